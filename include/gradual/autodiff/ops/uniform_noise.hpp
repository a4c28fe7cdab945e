#pragma once
#include <gradual/autodiff/ops/noise_like.hpp>

namespace gradual {

/// The middles of 2²³ equal parts of [0, 1], keyed like a dropout mask: `integer[0]` distinguishes the noises of one net.
struct UniformNoise {
  static constexpr const char* name = "uniform_noise";
  static constexpr int arity = 0;
  static constexpr Kind kind = Kind::random;
  static constexpr double mean = 0.5;

  template <class T>
  struct Draw {
    bool on;
    GRADUAL_HD constexpr T operator()(std::uint64_t key, std::uint32_t element) const {
      const std::uint64_t bits = threefry(key, element);
      const T number = T(0x1p-23) * (static_cast<T>(static_cast<std::int32_t>(bits >> 41)) + T(0.5));
      return math::select(on, number, T(mean));
    }
  };
};

/// Returns numbers uniform between 0 and 1 in the shape and type of x: different ones for each sample in each epoch or step,
/// whatever the micro-batch; 0.5 in evaluation and inference, unless these draw (`.evaluate_drawing`, `Drawing`). None is 0 or
/// 1 (except when rounded to bf16 or f16), so that log(u) and log(1.0 - u), which are at least −16.7, and -log(-log(u)) are
/// finite. For shapes, errors and how draws are told apart see `normal_like`.
constexpr Var uniform_like(Var x) { return detail::noise_like<UniformNoise>("uniform_like", -2, x); }

}  // namespace gradual
