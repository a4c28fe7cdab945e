#pragma once
#include <gradual/core/convolution.hpp>

namespace gradual::cpu {

/// The outputs [first, last), of `count` along an axis, that meet an element of the image under a place of the kernel: output o
/// meets o·stride + shift.
struct MetOutputs {
  std::int64_t shift, first, last;

  /// `place`: counted from the first element that an output reaches, zeros around the image included.
  MetOutputs(const ConvolutionAxis& axis, std::int64_t place, std::int64_t count) : shift(place - axis.before) {
    first = shift < 0 ? (-shift + axis.stride - 1) / axis.stride : 0;
    const std::int64_t end = axis.in <= shift ? 0 : (axis.in - shift - 1) / axis.stride + 1;
    last = end < count ? end : count;
  }
};

}  // namespace gradual::cpu
