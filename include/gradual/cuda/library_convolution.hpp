#pragma once
#include <type_traits>

#include <gradual/autodiff/ops/conv2d.hpp>
#include <gradual/cuda/convolution_form.hpp>

namespace gradual::cuda {

/// Whether a library computes node `node` of a graph, where a window's sums are held in S: a convolution of floats or of 16-bit
/// numbers, or an adjoint of one. Those of no numbers stay here, since no library takes them. Adjoints of weights are floats
/// whatever they are computed from, a mix that no library supports. Those of groups stay here: if a library had no engine for
/// them, the kernels here would lack memory for their sums.
template <class S>
constexpr bool is_library_convolution(const Node* nodes, const Node& node) {
  const bool of_weights = node.op->kind == Kind::batch_convolve;
  if (node.op->kind != Kind::convolve && !of_weights) return false;
  const Shape &images = nodes[node.in[0]].shape, &other = nodes[node.in[1]].shape;
  if (images.unit() == 0 || other.unit() == 0 || node.shape.unit() == 0) return false;
  if (of_weights && convolution_of(node, images, other).groups != 1) return false;
  const DType type = nodes[node.in[0]].dtype;
  return of_weights ? std::is_same_v<S, float> && type == DType::f32 : computed_in(type) == DType::f32;
}

/// Returns the form of such a convolution of `capacity` samples. A flipped one is the adjoint of a convolution without spreads:
/// the adjoint of an adjoint is recorded as a plain convolution.
constexpr ConvolutionForm library_convolution(const Node* nodes, const Node& node, std::int64_t capacity,
                                              Precision precision) {
  const Shape& images = nodes[node.in[0]].shape;
  const Convolution c = convolution_of(node, images, nodes[node.in[1]].shape);
  ConvolutionForm form;
  form.of = c.flipped ? gradual::detail::adjoint(c) : c;
  form.part = node.op->kind == Kind::batch_convolve ? ConvolutionPart::weights
              : c.flipped                           ? ConvolutionPart::images
                                                    : ConvolutionPart::outputs;
  form.images = images.extent[0] * capacity;
  form.type = nodes[node.in[0]].dtype;
  form.precision = precision;
  return form;
}

}  // namespace gradual::cuda
