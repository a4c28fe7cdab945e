#pragma once
#include <gradual/autodiff/ops/noise_like.hpp>
#include <gradual/core/math/cos.hpp>
#include <gradual/core/math/log.hpp>
#include <gradual/core/math/sqrt.hpp>

namespace gradual {

/// Numbers of mean 0 and deviation 1, keyed like a dropout mask: `integer[0]` distinguishes the noises of one net. The first of
/// the two that Box and Muller (1958) make from two uniform ones; none is beyond ±5.8.
struct NormalNoise {
  static constexpr const char* name = "normal_noise";
  static constexpr int arity = 0;
  static constexpr Kind kind = Kind::random;
  static constexpr double mean = 0;

  template <class T>
  struct Draw {
    bool on;
    GRADUAL_HD constexpr T operator()(std::uint64_t key, std::uint32_t element) const {
      const std::uint64_t bits = threefry(key, element);
      const T first = T(0x1p-24) * static_cast<T>(static_cast<std::int32_t>(bits >> 40) + 1),
              second = T(0x1p-24) * static_cast<T>(static_cast<std::int32_t>(bits & 0xFFFFFF));
      const T number = math::sqrt(T(-2) * math::log(first)) * math::cos(T(6.283185307179586) * second);
      return math::select(on, number, T(mean));
    }
  };
};

/// Returns noise of mean 0 and deviation 1 in the shape and type of x: different numbers for each sample in each epoch or step,
/// whatever the micro-batch; 0 in evaluation and inference, unless these draw (`.evaluate_drawing`, `Drawing`). x: [batch,
/// ...], or without samples, as a parameter is: then all samples of a window share the numbers, and each step has others. They
/// depend on how x is computed, not on when the noise is recorded; noise like values that are computed alike is told apart by
/// its order, so draw each in a statement of its own. Errors: samples along another axis, integers.
constexpr Var normal_like(Var x) { return detail::noise_like<NormalNoise>("normal_like", -1, x); }

}  // namespace gradual
