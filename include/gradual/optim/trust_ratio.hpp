#pragma once
#include <gradual/optim/update.hpp>

namespace gradual {

/// Returns a/b, or 1 where a or b is 0: how far a parameter of norm a may move along a direction of norm b.
constexpr Var trust_ratio(Var a, Var b) {
  const Var usable = where(a > 0.0, b, 0.0) > 0.0;
  return where(usable, a, 1.0) / where(usable, b, 1.0);
}

}  // namespace gradual
