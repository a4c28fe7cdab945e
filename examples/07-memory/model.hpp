#pragma once
#include <array>
#include <gradual/gradual.hpp>
#include <utility>

namespace deep {

using namespace gradual;

/// A classifier of 64 numbers with seven hidden layers of 128, whose activations need more memory than its parameters.
struct Deep {
  nn::Linear first, last;
  std::array<nn::Linear, 6> middle;

  template <std::size_t... I>
  constexpr Deep(Scope s, std::index_sequence<I...>)
      : first(s / "first", 64, 128, init::kaiming_uniform(64)), last(s / "last", 128, 10), middle{layer(s, I)...} {}
  constexpr explicit Deep(Scope s) : Deep(s, std::make_index_sequence<6>{}) {}
  static constexpr nn::Linear layer(Scope s, std::size_t i) {
    Name name;
    name << "layer" << static_cast<int>(i + 1);
    return nn::Linear(s / name.view(), 128, 128, init::kaiming_uniform(128));
  }

  constexpr Var predict(Var x) const {
    x = relu(first(x));
    for (const nn::Linear& linear : middle) x = tanh(linear(x));
    return last(x);
  }
  constexpr Loss loss(Var x, Var label) const {
    Var scores = predict(x);
    return {cross_entropy(scores, label), metric("accuracy", argmax(scores) == label)};
  }
};

using Net = Compiled<Deep, Inputs<f32[64], i32>>;
constexpr auto optimizer = Accumulate{Adam{.learning_rate = 1e-3f}};

}  // namespace deep
