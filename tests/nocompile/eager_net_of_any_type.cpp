// expected-error: an EagerNet's function takes an EagerTape& and, for each input, a span of a type that it names
#include <gradual/gradual.hpp>

using namespace gradual;

void train(Parameters& parameters, const nn::Linear& layer) {
#ifdef GOOD
  const auto record = [&](EagerTape& tape, std::span<const float> x) { return Loss(mean_per_sample(layer(tape.input(x, {3})))); };
#else
  const auto record = [&](EagerTape& tape, auto x) { return Loss(mean_per_sample(layer(tape.input(x, {3})))); };
#endif
  EagerNet net(parameters, record);
  Trainer trainer(net, Accumulate{Sgd{}}, {.global_batch = 8});
}
