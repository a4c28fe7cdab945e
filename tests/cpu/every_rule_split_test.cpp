// Every update rule: no bit of parameters and state depends on how windows are split.
#include <gtest/gtest.h>

#include "../models.hpp"
#include "../rules.hpp"

using namespace models;

namespace {

template <class Rule>
class EveryRuleSplit : public testing::Test {};
TYPED_TEST_SUITE(EveryRuleSplit, Rules);

TYPED_TEST(EveryRuleSplit, EndsInTheSameBits) {  // case 1
  const auto x = numbers(512 * 9);
  const auto y = labels(512, 5);
  const auto trained = [&](const std::vector<std::size_t>& split) {
    Session session(ClassifierNet{}, Accumulate{TypeParam{}}, {.global_batch = 512, .seed = 7});
    for (int step = 0; step < 20; ++step)
      for (std::size_t at = 0; std::size_t part : split) {
        session.accumulate(std::span(x).subspan(at * 9, part * 9), std::span(y).subspan(at, part));
        at += part;
      }
    EXPECT_EQ(session.step_count(), 20);
    std::vector<std::byte> state(session.parameter_bytes().begin(), session.parameter_bytes().end());
    state.insert(state.end(), session.optimizer_state_bytes().begin(), session.optimizer_state_bytes().end());
    return state;
  };
  const auto whole = trained({512});
  EXPECT_EQ(differing_bits(whole, trained(std::vector<std::size_t>(8, 64))), 0);
  EXPECT_EQ(differing_bits(whole, trained({7, 100, 1, 300, 104})), 0);
}

}  // namespace
