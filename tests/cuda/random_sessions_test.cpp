// Sessions on the GPU, or on its host twin, and on the processor that pass their state on to each other, cut windows anywhere
// and are disturbed by calls that may change nothing: to the bits of one on the processor that is given long ranges.
#include <gradual/cuda.hpp>

#include "../random_session.hpp"
#include "cuda_test.hpp"

namespace random_sessions_test {

using namespace random_session;

class RandomCudaSessions : public CudaTest {};

using Optimizer = Accumulate<Adam>;
const Optimizer optimizer{};
const std::tuple<Samples<float>, Samples<std::int32_t>> data{{numbers(all_samples * 9), {9}}, {labels(all_samples, 5), {}}};

template <class Net>
std::unique_ptr<Player> player_of(const SessionOptions& options, Chance& chance) {
  return std::make_unique<CompiledPlayer<Classifier, Net, Optimizer, float, std::int32_t>>(data, optimizer, options, chance);
}

TEST_P(RandomCudaSessions, EndInTheSameBits) {
  const std::vector<Make> make = {
      player_of<ClassifierNet>, player_of<On<ClassifierNet, Cuda>>, player_of<OnSeparateCuda<ClassifierNet>>};
  for (std::uint64_t seed = 0; seed < 5 && !HasFailure(); ++seed) {
    Chance chance(~seed);
    SessionOptions options{.global_batch = 1 + chance.below(300), .seed = seed};
    if (chance.one_in(4)) options.freeze = {"*/bias"};
    expect_undisturbed({seed, options, false, false, true}, make);
  }
}

INSTANTIATE_TEST_SUITE_P(Turns, RandomCudaSessions, turns, name_of_turns);

}  // namespace random_sessions_test
