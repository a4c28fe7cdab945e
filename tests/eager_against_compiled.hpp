#pragma once
// Trains a model eagerly, and compiled in parts of other sizes, and expects parameters and losses of the same bits.
#include <gtest/gtest.h>

#include "compiled_against_reference.hpp"

namespace against_reference {

/// For a model whose samples are nine numbers.
template <class Model>
void expect_equal_bits_eagerly() {
  const auto x = numbers(samples * 9);
  Parameters parameters(Device::cpu());
  const Model net(parameters.root());
  const SessionOptions options{.global_batch = samples, .seed = 3};
  Session eager(parameters, Accumulate{Adam{}}, options);
  Session compiled(Compiled<Model, Inputs<f32[9]>>{}, Accumulate{Adam{}}, options);
  for (int step = 0; step < 3; ++step) {
    for (std::size_t at = 0; const std::size_t part : {7, 100, 1, 192}) {
      compiled.accumulate(std::span(x).subspan(at * 9, part * 9));
      at += part;
    }
    eager.accumulate(samples, [&](EagerTape& tape) { return net.loss(tape.input(x, {9})); });
    EXPECT_EQ(compiled.last_window().loss(), eager.last_window().loss());
  }
  EXPECT_EQ(compiled.step_count(), 3);
  EXPECT_EQ(differing_bits(std::as_bytes(compiled.parameters().values()), eager.parameter_bytes()), 0);
}

}  // namespace against_reference
