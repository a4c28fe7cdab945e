#pragma once
#include <gradual/autodiff/ops/max.hpp>

namespace gradual {

/// The largest element of each window of size × size: [batch, channels, height, width] to [batch, channels, height/size,
/// width/size]. Ties share the adjoint evenly. Errors: another rank, sizes that windows do not divide.
constexpr Var max_pool2d(Var x, std::int64_t size) {
  if (!x.valid()) return {};
  const Shape from = x.shape();
  if (from.rank != 4 || from.batch_axis > 1 || size < 1 || from.extent[2] % size != 0 || from.extent[3] % size != 0)
    return x.tape->fail(Message() << "max_pool2d: windows of " << size << " x " << size << " do not divide images " << from
                                  << x.tape->in_layer({x}).view());
  Shape windows{from.extent[0], from.extent[1], from.extent[2] / size, size, from.extent[3] / size, size};
  windows.batch_axis = from.batch_axis;
  return max(reshape(x, windows), {3, 5});
}

}  // namespace gradual
