#pragma once
#include <gradual/core/budget.hpp>
#include <gradual/train/training_layout.hpp>

namespace gradual::detail {

/// Errors: MemoryError, always.
[[noreturn, gnu::cold]] void refuse_budget(const SessionLayout& layout, bool gather, std::int64_t frozen, Budget budget,
                                           const SessionLayout* fitting);

}  // namespace gradual::detail

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/train/memory_error.ipp>
#endif
