#pragma once
#include <gradual/autodiff/backward_space.hpp>

namespace gradual::detail {

/// Returns the adjoint that slices of `whole` give it: `last` and those passed before it. Invalid if they are few, overlap or
/// lie along different axes, and must be passed one by one. `whole` has samples, and its tape runs its ops.
Var joined_slices(Var whole, int last, BackwardSpace& space);

}  // namespace gradual::detail

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/autodiff/joined_slices.ipp>
#endif
