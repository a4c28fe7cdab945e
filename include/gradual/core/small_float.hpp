#pragma once
#include <gradual/core/math/bits.hpp>

namespace gradual {

/// A floating-point number in 16 bits, `MantissaBits` of them for the mantissa: for storage, not for arithmetic. Each is
/// exactly a float; a float is rounded to the nearest, ties to even, subnormals and infinities included. NaN stays NaN, with as
/// much of its payload as fits.
template <int MantissaBits>
class SmallFloat {
  static constexpr int dropped = math::FloatFormat<float>::mantissa_bits - MantissaBits;
  static constexpr std::uint32_t infinity = 0x8000u - (1u << MantissaBits);
  /// How much larger a float's exponent is, in place; 0 if both have the same exponent range.
  static constexpr std::uint32_t rebias = (127u - ((1u << (14 - MantissaBits)) - 1)) << 23;
  static constexpr std::uint32_t least_normal = rebias + (1u << 23);  ///< as a float's bits
  /// A float whose unit in the last place is the smallest subnormal: a sum with it is rounded to multiples of that.
  static constexpr float shifter = math::from_bits<float>(rebias + (static_cast<std::uint32_t>(dropped + 1) << 23));

 public:
  std::uint16_t bits = 0;

  constexpr SmallFloat() = default;
  GRADUAL_HD constexpr explicit SmallFloat(float x) {
    const std::uint32_t all = math::to_bits(x), size = all & 0x7fffffffu;
    const std::uint32_t rounded = (size - rebias + (1u << (dropped - 1)) - 1 + (size >> dropped & 1)) >> dropped;
    const std::uint32_t payload = size >> dropped & ((1u << MantissaBits) - 1);
    const std::uint32_t nan = infinity | (payload > 0 ? payload : 1u << (MantissaBits - 1));
    std::uint32_t found = rounded < infinity ? rounded : infinity;
    if constexpr (rebias > 0) {
      const std::uint32_t tiny = math::to_bits(math::from_bits<float>(size) + shifter) - math::to_bits(shifter);
      found = size < least_normal ? tiny : found;
    }
    found = size > math::infinity_bits<float> ? nan : found;
    bits = static_cast<std::uint16_t>(found | (all >> 16 & 0x8000u));
  }

  GRADUAL_HD constexpr explicit operator float() const {
    if constexpr (rebias == 0) return math::from_bits<float>(static_cast<std::uint32_t>(bits) << dropped);
    const std::uint32_t size = bits & 0x7fffu, sign = (bits & 0x8000u) << 16;
    const std::uint32_t normal = (size << dropped) + rebias;
    const float tiny = math::from_bits<float>(normal + (1u << 23)) - math::from_bits<float>(least_normal);
    const std::uint32_t found = size < infinity ? normal : normal + rebias;
    return math::from_bits<float>((size < 1u << MantissaBits ? math::to_bits(tiny) : found) | sign);
  }
};

}  // namespace gradual
