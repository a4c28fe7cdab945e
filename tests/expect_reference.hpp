#pragma once
// Compares everything on an eager tape with the reference.
#include <gtest/gtest.h>

#include <gradual/check/eager_bits.hpp>
#include <gradual/eager/tape.hpp>

/// Evaluates the tape by the reference, from the tape's own inputs, and expects equal bits for every node.
template <class T>
gradual::Reference<T> expect_reference(gradual::EagerTape& tape, const std::string& name,
                                       const gradual::Randomness& random = {}) {
  std::vector<std::vector<T>> samples;
  for (int i = 0; i < static_cast<int>(tape.inputs.size()); ++i) {
    const gradual::InputInfo& info = tape.inputs[static_cast<std::size_t>(i)];
    gradual::with_type(info.dtype, [&](auto t) {
      using E = decltype(t);
      const auto* values = static_cast<const E*>(tape.values().input(i));
      samples.emplace_back();
      for (std::int64_t e = 0; e < info.shape.elements(tape.batch()); ++e)
        samples.back().push_back(static_cast<T>(static_cast<gradual::Computed<E>>(values[e])));
    });
  }
  gradual::Reference<T> reference(tape, tape.batch(), samples, {}, {}, random);
  EXPECT_EQ(gradual::op_checks::difference(tape, tape.values(), reference), "") << name;
  return reference;
}
