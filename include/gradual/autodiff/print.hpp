#pragma once
#include <ostream>

#include <gradual/autodiff/tape.hpp>

namespace gradual {

/// As in "[batch, 128]".
std::ostream& operator<<(std::ostream& out, const Shape& shape);

/// The tape as text, one line for each node: "%7 = matmul %3, %5 : float[batch, 128]", and what its roots are.
std::ostream& operator<<(std::ostream& out, const Tape& tape);

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/autodiff/print.ipp>
#endif
