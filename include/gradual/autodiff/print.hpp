#pragma once
#include <iosfwd>

#include <gradual/autodiff/tape.hpp>

namespace gradual {

/// Prints a shape as in "[batch, 128]".
std::ostream& operator<<(std::ostream& out, const Shape& shape);

/// Prints the tape, one line for each node, as in "%7 = matmul %3, %5 : float[batch, 128]", followed by its roots.
std::ostream& operator<<(std::ostream& out, const Tape& tape);

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/autodiff/print.ipp>
#endif
