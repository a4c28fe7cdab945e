#pragma once
#include <gradual/autodiff/ops/noise_like.hpp>

namespace gradual {

/// The middles of 2²³ equal parts of [0, 1], keyed as a dropout mask is: `integer[0]` tells the noise of one net apart.
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

/// Numbers between 0 and 1, each as likely as the others, in the shape and type of x: other numbers for each sample in each
/// epoch or step, whatever the micro-batch; in evaluation and inference, unless these draw (`.evaluate_drawing`, `Drawing`),
/// all are 0.5. None is 0 or 1 (but rounded to bf16 or f16), so that log(u) and log(1.0 - u), from −16.7 on, and -log(-log(u))
/// are finite. Shapes, errors and what tells draws apart are those of `normal_like`.
constexpr Var uniform_like(Var x) { return detail::noise_like<UniformNoise>("uniform_like", -2, x); }

}  // namespace gradual
