#pragma once
#include <gradual/autodiff/cpu/window_part_of.hpp>
#include <gradual/autodiff/ops/conv2d.hpp>
#include <gradual/core/alignment.hpp>
#include <gradual/core/cpu/small_float_images.hpp>

namespace gradual::cpu {

/// The kernel of convolution node `Id` of program P, with its workspace.
template <class P, int Id>
class ConvolutionKernel {
  static constexpr Node node = P::template node<Id>;
  static constexpr Shape a_shape = P::template node<node.in[0]>.shape, b_shape = P::template node<node.in[1]>.shape;
  static constexpr Convolution form = convolution_of(node, a_shape, b_shape);
  static constexpr std::int64_t images = a_shape.extent[0];  ///< of each sample
  using E = ElementOf<P::template node<node.in[0]>.dtype>;
  using T = Computed<E>;
  using W = AccumulatorOf<P, Id, T>;

 public:
  static constexpr bool holds_rows = false;  ///< of unfinished blocks

  static constexpr std::int64_t workspace_bytes() {
    const std::int64_t elements =
        node.op->kind == Kind::convolve ? SpaceOf<E>::forward(form) : SpaceOf<E>::template backward<W>(form, images);
    return aligned(elements * std::int64_t{sizeof(T)});
  }

  /// Returns multiply-adds for each sample, which decide whether threads pay.
  static constexpr std::int64_t work() { return images * form.multiply_adds(); }

  GRADUAL_KERNEL_CODE static void run(const StepArguments& s) {
    const E* a = static_cast<const E*>(s.address[P::template storage<node.in[0]>]);
    const E* b = static_cast<const E*>(s.address[P::template storage<node.in[1]>]);
    T* workspace = reinterpret_cast<T*>(s.workspace);
    if constexpr (node.op->kind == Kind::convolve) {
      convolution(form, a, b, static_cast<E*>(s.address[Id]), images * s.batch, workspace, s.part);
    } else {
      constexpr std::int64_t p = images * form.positions();
      batch_convolution(form, images, a, b, window_part_of<P, Id, T>(s, p), workspace, s.part);
    }
  }
};

}  // namespace gradual::cpu
