#pragma once
#include <iosfwd>

#include <gradual/eager/tensor.hpp>

namespace gradual {

/// Prints "float[2, 3] on cpu" and the elements, row by row, to four digits; omits the middle of long axes.
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/eager/print_tensor.ipp>
#endif
