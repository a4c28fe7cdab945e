#pragma once
#include <gradual/gradual.hpp>

namespace convolutions {

using namespace gradual;

struct Convolutional {
  nn::Conv2d first, second;
  nn::Linear output;
  constexpr explicit Convolutional(Scope s)
      : first(s / "first", 1, 12, 3, {.padding = 1}), second(s / "second", 12, 24, 3, {.padding = 1}),
        output(s / "output", 24 * 2 * 2, 10) {}

  constexpr Var predict(Var x) const {
    x = max_pool2d(relu(first(x)), 2);
    x = max_pool2d(relu(second(x)), 2);
    return output(flatten(x));
  }
  constexpr Loss loss(Var x, Var label) const {
    Var scores = predict(x);
    return {cross_entropy(scores, label), metric("accuracy", argmax(scores) == label)};
  }
};

using Net = Compiled<Convolutional, Inputs<f32[1][8][8], i32>>;

}  // namespace convolutions
