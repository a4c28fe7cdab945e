#pragma once
#include <gradual/core/cpu/copy_row.hpp>

// Elements of 16 bits, a chunk at a time: ops compute with floats.

namespace gradual::eager {

/// to[i] = element begin + i of `from`, which have type `dtype`.
inline void widen(DType dtype, const void* from, std::int64_t begin, std::int64_t count, float* to) {
  if (dtype == DType::bf16) cpu::copy_row(static_cast<const bf16*>(from) + begin, count, to);
  else cpu::copy_row(static_cast<const f16*>(from) + begin, count, to);
}
/// The other way round.
inline void narrow(DType dtype, const float* from, std::int64_t count, void* to, std::int64_t begin) {
  if (dtype == DType::bf16) cpu::copy_row(from, count, static_cast<bf16*>(to) + begin);
  else cpu::copy_row(from, count, static_cast<f16*>(to) + begin);
}

}  // namespace gradual::eager
