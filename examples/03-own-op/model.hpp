#pragma once
#include "mish.hpp"

namespace spirals {

using namespace gradual;

struct Spirals {
  using Ops = OpList<Mish>;  // the ops that this model uses beyond the library's
  nn::Linear first, second, scores;
  constexpr explicit Spirals(Scope s) : first(s / "first", 2, 32), second(s / "second", 32, 32), scores(s / "scores", 32, 2) {}
  constexpr Loss loss(Var point, Var arm) const {
    const Var y = scores(mish(second(mish(first(point)))));
    return {cross_entropy(y, arm), metric("accuracy", argmax(y) == arm)};
  }
};

}  // namespace spirals
