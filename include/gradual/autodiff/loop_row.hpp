#pragma once
#include <type_traits>

#include <gradual/autodiff/ops/dropout.hpp>

namespace gradual {

/// Values of one element of a loop; every index is a constant, so these live in registers.
template <int Slots>
struct LoopValues {
  float f32[Slots];
  double f64[Slots];
  std::int32_t i32[Slots];
  template <class X>
  GRADUAL_HD GRADUAL_INLINE X* of() {
    if constexpr (std::is_same_v<X, float>) return f32;
    else if constexpr (std::is_same_v<X, double>) return f64;
    else return i32;
  }
  template <class X>
  GRADUAL_HD GRADUAL_INLINE const X* of() const {
    return const_cast<LoopValues*>(this)->template of<X>();
  }
};

/// The state of the current row: pointers, and the values that all its columns share.
template <int Slots>
struct LoopRow {
  LoopValues<Slots> uniform;  ///< for a padded view or a join: the number that it is padded with
  const void* in[Slots];
  void* out[Slots];
  std::int64_t offset[Slots];
  bool inside[Slots];
  std::uint64_t key[Slots];
  DropoutMask::Draw<double> mask[Slots];
};

}  // namespace gradual
