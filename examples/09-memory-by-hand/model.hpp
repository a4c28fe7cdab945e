#pragma once
#include <gradual/gradual.hpp>

namespace spectrogram {

using namespace gradual;

inline constexpr std::int64_t height = 180, width = 50, batch = 128;

struct Spectrogram {
  nn::Conv2d first, second;
  nn::Linear hidden, output;
  constexpr explicit Spectrogram(Scope s)
      : first(s / "first", 1, 32, 3, {.padding = 1}), second(s / "second", 32, 64, 3, {.padding = 1}),
        hidden(s / "hidden", 45 * 12 * 64, 550), output(s / "output", 550, 10) {}
  constexpr Loss loss(Var x, Var label) const {
    x = max_pool2d(relu(first(x)), 2);
    x = max_pool2d(relu(second(x)), 2);
    return {cross_entropy(output(relu(hidden(flatten(x)))), label)};
  }
};

using Net = Compiled<Spectrogram, Inputs<f32[1][height][width], i32>>;

}  // namespace spectrogram
