#pragma once
#include <gradual/core/convolution.hpp>
#include <gradual/core/dtype.hpp>
#include <gradual/cuda/numerics.hpp>

namespace gradual::cuda {

/// What of a convolution is asked for, from the other two: outputs (forward), the adjoint of images (data gradient) or that
/// of weights (filter gradient).
enum class ConvolutionPart : unsigned char { outputs, images, weights };

/// A convolution of `images` images, unflipped and without spreads, with as many zeros before an image as after it, and in
/// one group where weights are asked for. All are of one type, stored plane after plane and row after row, and sums are of
/// floats. `adds`: to what the result holds.
struct ConvolutionForm {
  Convolution of;
  ConvolutionPart part = ConvolutionPart::outputs;
  std::int64_t images = 0;
  DType type = DType::f32;
  Precision precision = Precision::float32;  ///< of floats
  bool adds = false;
};

}  // namespace gradual::cuda
