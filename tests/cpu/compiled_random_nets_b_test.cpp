// Four random nets against the reference; there are three such files because compiling a net takes seconds.
#include "../compiled_random_net.hpp"

namespace random_net {
namespace {

TEST(CompiledRandomNets, HaveTheBitsOfTheReference) {
  expect_bits_of(std::integer_sequence<std::uint64_t, 14, 15, 17, 19>{});
}

}  // namespace
}  // namespace random_net
