#pragma once
#if defined(__AVX512F__)
#include <gradual/core/cpu/vec_avx512.hpp>
#elif defined(__AVX2__)
#include <gradual/core/cpu/vec_avx2.hpp>
#elif defined(__aarch64__)
#include <gradual/core/cpu/vec_neon.hpp>
#else
#include <gradual/core/cpu/vec.hpp>
#endif

namespace gradual::cpu {

/// Rows of a tile whose chains, two vectors wide, fit in the registers, of which there are 32 or 16.
#if defined(__AVX512F__) || defined(__aarch64__)
inline constexpr int tile_rows = 12;
#else
inline constexpr int tile_rows = 6;
#endif

}  // namespace gradual::cpu
