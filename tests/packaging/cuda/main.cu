// A net of one number on the GPU, or the error that there is none, which eager tensors say in the same words.
#include <string>
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
    const std::string text = error.what();
    if (cuda::device_found() || !text.starts_with("gradual: no CUDA device found")) return 1;
    try {
      Device::cuda(0);
    } catch (const DeviceError& eager) {
      return eager.what() == text ? 0 : 1;
    }
    return 1;
  }
}
