#pragma once
// Compares everything on an eager tape with the reference.
#include <gtest/gtest.h>

#include <gradual/check/eager_bits.hpp>
#include <gradual/eager/tape.hpp>

/// Evaluates what is on the tape by the reference, from the tape's own inputs, and expects equal bits of every node.
template <class T>
gradual::Reference<T> expect_reference(gradual::EagerTape& tape, const std::string& name, const gradual::Randomness& random = {}) {
  std::vector<std::vector<T>> samples;
  for (int i = 0; i < static_cast<int>(tape.inputs.size()); ++i) {
    const gradual::InputInfo& info = tape.inputs[static_cast<std::size_t>(i)];
    gradual::eager::with_type(info.dtype, [&](auto t) {
      const auto* values = static_cast<const decltype(t)*>(tape.values().input(i));
      samples.emplace_back(values, values + info.shape.elements(tape.batch()));
    });
  }
  gradual::Reference<T> reference(tape, tape.batch(), samples, {}, {}, random);
  EXPECT_EQ(gradual::check::difference(tape, tape.values(), reference), "") << name;
  return reference;
}
