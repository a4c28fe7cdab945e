#pragma once
// Shared by tests of saved states.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "models.hpp"

namespace resume {

using namespace models;

inline constexpr auto optimizer = Accumulate{Adam{.learning_rate = 0.01f}};

struct Resume : testing::Test {
  const std::string file = (std::filesystem::temp_directory_path() / ("gradual_resume_" + std::to_string(::getpid()))).string();
  ~Resume() override { std::filesystem::remove(file); }
};

/// Returns whether two states are equal, their tensors bit for bit.
inline testing::AssertionResult equal(const Checkpoint& a, const Checkpoint& b) {
  for (const auto& [name, text] : a.notes)
    if (!b.notes.contains(name) || b.note(name) != text) return testing::AssertionFailure() << "note " << name << ": " << text;
  for (const auto& [name, tensor] : a.tensors)
    if (!b.tensors.contains(name) || differing_bits(std::as_bytes(std::span(tensor.values)),
                                                    std::as_bytes(std::span(b.tensor(name, tensor.dtype).values))) != 0)
      return testing::AssertionFailure() << "tensor " << name;
  if (a.notes.size() != b.notes.size() || a.tensors.size() != b.tensors.size())
    return testing::AssertionFailure() << "not as many notes or tensors";
  return testing::AssertionSuccess();
}

}  // namespace resume
