#pragma once
#include <gradual/core/budget.hpp>
#include <gradual/train/session_layout.hpp>

namespace gradual::detail {

/// Refuses a layout. `fitting`: the largest layout of the same kind that would fit; `otherwise`: where none does, one that
/// would with the other `OpenBlocks`; null where there is none. Errors: MemoryError, always.
[[noreturn, gnu::cold]] void refuse_budget(const SessionLayout& layout, bool gather, std::int64_t frozen, Budget budget,
                                           const SessionLayout* fitting, const SessionLayout* otherwise = nullptr);

}  // namespace gradual::detail

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/train/memory_error.ipp>
#endif
