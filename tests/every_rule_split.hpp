#pragma once
// For an update rule: no bit of parameters and state depends on how windows are split, on where a run is resumed, or on
// dropped windows; and the bits are those of the rule as recorded at run time, with its numbers.
#include <gtest/gtest.h>

#include <limits>

#include <gradual/check/reference_update.hpp>

#include "models.hpp"
#include "rules.hpp"

namespace models {

/// A matrix with more columns than rows, one with more rows, and a vector.
struct WideAndTall {
  nn::Linear wide, tall;
  constexpr explicit WideAndTall(Scope s) : wide(s / "wide", 9, 11, {.bias = false}), tall(s / "tall", 11, 5) {}
  constexpr Loss loss(Var x, Var label) const { return {cross_entropy(tall(relu(wide(x))), label)}; }
};
/// Rules that read more than an element are compiled for each net, which takes long where it has many parameters.
template <class Rule>
using SplitNet = std::conditional_t<UpdatesByElement<Rule>, ClassifierNet, Compiled<WideAndTall, Inputs<f32[9], i32>>>;

template <class Rule>
class EveryRuleSplit : public testing::Test {};
TYPED_TEST_SUITE_P(EveryRuleSplit);

template <class Session>
std::vector<std::byte> all_bytes(const Session& session) {
  std::vector<std::byte> all(session.parameter_bytes().begin(), session.parameter_bytes().end());
  all.insert(all.end(), session.optimizer_state_bytes().begin(), session.optimizer_state_bytes().end());
  return all;
}

TYPED_TEST_P(EveryRuleSplit, EndsInTheSameBits) {  // case 1
  const auto x = numbers(1024 * 9);
  const auto y = labels(1024, 5);
  const auto trained = [&](const std::vector<std::size_t>& split) {
    Session session(SplitNet<TypeParam>{}, Accumulate{TypeParam{}}, {.global_batch = 1024, .seed = 7});
    for (int step = 0; step < 100; ++step)
      for (std::size_t at = 0; std::size_t part : split) {
        session.accumulate(std::span(x).subspan(at * 9, part * 9), std::span(y).subspan(at, part));
        at += part;
      }
    EXPECT_EQ(session.step_count(), 100);
    return all_bytes(session);
  };
  const auto whole = trained({1024});
  EXPECT_EQ(differing_bits(whole, trained(std::vector<std::size_t>(16, 64))), 0);
  EXPECT_EQ(differing_bits(whole, trained({341, 341, 341, 1})), 0);
  EXPECT_EQ(differing_bits(whole, trained({7, 100, 1, 300, 616})), 0);
}

TYPED_TEST_P(EveryRuleSplit, GoesOnFromAnyPlaceAndForgetsDroppedWindows) {  // cases 4, 7 and 37
  const auto x = numbers(512 * 9);
  const auto y = labels(512, 5);
  const std::vector<float> far(512 * 9, std::numeric_limits<float>::max());
  const auto make = [] {
    return Session(SplitNet<TypeParam>{}, Accumulate{with_all_numbers<TypeParam>()}, {.global_batch = 512, .seed = 7});
  };
  const auto give = [&](auto& session, std::size_t begin, std::size_t end) {
    session.accumulate(std::span(x).subspan(begin * 9, (end - begin) * 9), std::span(y).subspan(begin, end - begin));
  };
  auto whole = make(), dropping = make();
  for (int step = 0; step < 4; ++step) {
    give(whole, 0, 512), give(dropping, 0, 512);
    dropping.accumulate(far, y);
  }
  EXPECT_EQ(dropping.dropped_windows(), 4);
  EXPECT_EQ(differing_bits(all_bytes(whole), all_bytes(dropping)), 0);
  for (const std::size_t at : {7u, 128u, 408u}) {
    auto killed = make(), resumed = make();
    for (int step = 0; step < 3; ++step) give(killed, 0, 512);
    give(killed, 0, at);
    resumed.restore(killed.state());
    give(resumed, at, 512);
    EXPECT_EQ(differing_bits(all_bytes(whole), all_bytes(resumed)), 0) << at;
  }
}

TYPED_TEST_P(EveryRuleSplit, ReadsItsNumbersWhereTheyStand) {
  using Net = SplitNet<TypeParam>;
  constexpr const SessionTables& tables = session_tables<Net, TypeParam>;
  constexpr int arrays = tables.arrays();
  const auto rule = with_all_numbers<TypeParam>();
  const Tape tape = trace_update(rule, std::span(Net::Training::graph.parameters, Net::parameter_count));
  Session session(Net{}, Accumulate{rule}, {.global_batch = 512, .seed = 7});
  const auto arrays_now = [&] {
    std::vector<std::vector<float>> all = {{session.parameters().values().begin(), session.parameters().values().end()},
                                           {session.accumulator().begin(), session.accumulator().end()}};
    for (int a = 2; a < arrays; ++a) {
      const std::byte* state = session.optimizer_state_bytes().data() + tables.array_offset(a) - tables.array_offset(2);
      all.emplace_back(reinterpret_cast<const float*>(state), reinterpret_cast<const float*>(state) + tables.elements(a));
    }
    return all;
  };
  for (int step = 0; step < 3; ++step) {
    std::vector<std::vector<float>> before = arrays_now();
    session.accumulate(numbers(512 * 9, static_cast<unsigned>(step)), labels(512, 5));
    const auto after = arrays_now();
    before[1] = after[1];
    const auto expected = detail::reference_update(tape, before, 512, step + 1);
    for (std::size_t a = 0; a < arrays; ++a)
      EXPECT_EQ(differing_bits(std::as_bytes(std::span(expected[a])), std::as_bytes(std::span(after[a]))), 0) << "array " << a;
  }
}

REGISTER_TYPED_TEST_SUITE_P(EveryRuleSplit, EndsInTheSameBits, GoesOnFromAnyPlaceAndForgetsDroppedWindows,
                            ReadsItsNumbersWhereTheyStand);

}  // namespace models
