#pragma once
#include <cstddef>
#include <cstdint>

#include <gradual/autodiff/randomness.hpp>
#include <gradual/core/cpu/part.hpp>

namespace gradual {

/// What a compiled program is told when it runs one micro-batch.
struct StepArguments {
  void* const* address = nullptr;  ///< memory of each stored node, by node id
  void* const* open = nullptr;     ///< the unfinished block of each sum over samples, by node id; null where none is needed
  const bool* needed = nullptr;    ///< by kernel group; null: all of them
  std::byte* workspace = nullptr;
  std::int64_t batch = 0;          ///< samples in this micro-batch
  std::int64_t begin = 0;          ///< index in the window of its first sample
  bool first = true, last = true;  ///< whether it begins, and ends, the window
  std::int64_t held_from = 0;      ///< sample from which on kernels that can keep unfinished blocks as rows (`HeldRows`)
  Randomness random;
  cpu::Part part;                  ///< what this thread computes of each kernel
  const void* places = nullptr;    ///< of a kernel that several groups share: the `LoopPlaces` of the one that runs
};

}  // namespace gradual
