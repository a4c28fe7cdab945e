// A net of one number on the GPU, or the error that there is none.
#include <string_view>
#include <vector>

#include <gradual/cuda_fast.hpp>

using namespace gradual;

struct Scale {
  Parameter factor;
  constexpr explicit Scale(Scope s) : factor(s.parameter("factor", Shape{1}, init::constant(1))) {}
  constexpr Loss loss(Var x, Var y) const { return {mse(x * factor, y)}; }
};

int main() {
  try {
    Session session(Compiled<Scale, Inputs<f32[1], f32[1]>, Cuda>{}, Accumulate{Sgd{}}, {.global_batch = 4});
    const std::vector<float> x(4, 1), y(4, 2);
    return session.accumulate(x, y) == 1 && session.parameters()["factor"].values[0] > 1 ? 0 : 1;
  } catch (const DeviceError& error) {
    return !cuda::device_found() && std::string_view(error.what()).starts_with("gradual: no CUDA device is found") ? 0 : 1;
  }
}
