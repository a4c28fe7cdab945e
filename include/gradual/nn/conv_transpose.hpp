#pragma once
#include <gradual/autodiff/ops/conv_transpose.hpp>
#include <gradual/nn/conv.hpp>

namespace gradual::nn {

/// A transposed convolution of series or images [batch, in, ...] to larger ones [batch, out, ...], and a bias for each output
/// channel. Parameters: weight [in, out / groups, kernel, ...], bias [out], which options may leave out; initialised as in
/// PyTorch, which takes `out` for the fan-in. `kernel` and `output_padding`, of images: by axis or for both. Errors: as for
/// `conv_transpose1d` and `conv_transpose2d`.
template <int Axes>
class ConvTranspose : public detail::Kernels<Axes> {
  using Kernels = detail::Kernels<Axes>;
  using Extent = typename Kernels::Extent;

 public:
  constexpr ConvTranspose(Scope scope, std::int64_t in, std::int64_t out, Extent kernel, Walk walk = {},
                          Extent output_padding = 0, LayerOptions options = {})
      : ConvTranspose(scope, in, out, kernel, walk, output_padding,
                      Kernels::default_weight(detail::of_group(out, walk), kernel), options) {}
  constexpr ConvTranspose(Scope scope, std::int64_t in, std::int64_t out, Extent kernel, Walk walk,
                          Extent output_padding, Initializer weight, LayerOptions options = {})
      : Kernels(scope, {in, detail::of_group(out, walk)}, kernel, out, weight, options), walk_(walk),
        output_padding_(output_padding) {}

  constexpr Var operator()(Var x) const {
    const Var weight = this->weight().on(x);  // recorded before the bias by every compiler
    if (weight.valid() && walk_.groups > 1 && this->outputs() % walk_.groups != 0)
      return x.tape->fail(Message() << "conv_transpose" << Axes << "d: " << this->outputs()
                                    << " outputs are not shared out evenly among " << walk_.groups << " groups", {weight});
    if constexpr (Axes == 1) return this->plus_bias(conv_transpose1d(x, weight, walk_, output_padding_), x);
    else return this->plus_bias(conv_transpose2d(x, weight, walk_, output_padding_), x);
  }

 private:
  Walk walk_;
  Extent output_padding_;
};

using ConvTranspose1d = ConvTranspose<1>;
using ConvTranspose2d = ConvTranspose<2>;

}  // namespace gradual::nn
