// An eager session whose kernels are in another library, and a constant that takes more operations than g++ allows by default.
#include <vector>

#include <gradual/gradual.hpp>

using namespace gradual;

#ifndef GRADUAL_SHARED_KERNELS
#error "gradual::kernels did not say that it has the kernels"
#endif

constexpr int count_odd_pairs(int numbers) {
  int odd = 0;
  for (int i = 0; i < numbers; ++i)
    for (int j = 0; j < numbers; ++j) odd += (i + j) % 2;
  return odd;
}
static_assert(count_odd_pairs(1500) == 1500 * 1500 / 2);

int main() {
  Parameters parameters(Device::cpu());
  const nn::Linear layer(parameters.root() / "layer", 3, 2);
  Session session(parameters, Accumulate{Sgd{}}, {.global_batch = 4});
  const std::vector<float> x(12, 1), y(8, 2);
  return session.accumulate(4, [&](EagerTape& tape) { return Loss(mse(layer(tape.input(x, {3})), tape.input(y, {2}))); }) == 1
             ? 0
             : 1;
}
