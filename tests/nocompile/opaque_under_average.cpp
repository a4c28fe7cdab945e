// expected-error: an opaque optimizer steps by itself, after its adapters: they can only change the gradient
#include <gradual/gradual.hpp>

using namespace gradual;

struct Halving {
  void step(std::span<const ParameterView> parameters, std::span<const GradientView>) {
    for (const ParameterView& p : parameters)
      for (float& value : p.values) value /= 2;
  }
};

#if defined(GOOD)
constexpr auto optimizer = Accumulate{ClipByGlobalNorm{Halving{}, 1.0}};
#else
constexpr auto optimizer = Accumulate{Ema{Halving{}, 0.9}};
#endif

constexpr auto rule = rule_of(optimizer);
