#pragma once
#include <gradual/core/convolution.hpp>
#include <gradual/core/dtype.hpp>
#include <gradual/cuda/numerics.hpp>

namespace gradual::cuda {

/// The part of a convolution that is computed from the other two: outputs (forward), the adjoint of images (data gradient) or
/// that of weights (filter gradient).
enum class ConvolutionPart : unsigned char { outputs, images, weights };

/// A convolution of `images` images, unflipped and without spreads, with as many zeros before an image as after it, and in one
/// group where weights are computed. All operands have one type and are stored plane after plane and row after row; sums are
/// floats. `adds`: the result is added to what is there.
struct ConvolutionForm {
  Convolution of;
  ConvolutionPart part = ConvolutionPart::outputs;
  std::int64_t images = 0;
  DType type = DType::f32;
  Precision precision = Precision::float32;  ///< of floats
  bool adds = false;
};

}  // namespace gradual::cuda
