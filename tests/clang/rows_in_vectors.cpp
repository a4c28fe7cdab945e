// Loops over rows of 16 columns, which clang would unroll before it vectorizes them.
#include <gradual/gradual.hpp>

using namespace gradual;

struct Attention {
  Parameter temperature;
  constexpr explicit Attention(Scope s) : temperature(s.parameter("temperature", Shape{16}, init::constant(1))) {}
  constexpr Var predict(Var scores) const { return softmax(scores * temperature); }
};

template class gradual::Inference<Compiled<Attention, Inputs<f32[16][16]>>>;
