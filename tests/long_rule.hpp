#pragma once
#include <gradual/gradual.hpp>

namespace models {

using namespace gradual;

/// A rule of more ops than one loop computes, so that a value of each element is stored between loops.
struct LongRule {
  constexpr auto operator()(Var parameter, Var gradient, NoState state) const {
    Var moved = gradient;
    for (int i = 0; i < 30; ++i) moved = tanh(moved + gradient);
    return update(parameter - 0.01 * moved, state);
  }
};
static_assert(UpdatesByElement<LongRule> && !gradual::detail::element_program<LongRule, float>.one_loop);

}  // namespace models
