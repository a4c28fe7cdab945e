#pragma once
#include <cstddef>
#include <cstdint>

#include <gradual/autodiff/randomness.hpp>
#include <gradual/core/cpu/part.hpp>

namespace gradual {

/// The arguments of a compiled program that runs one micro-batch.
struct StepArguments {
  void* const* address = nullptr;  ///< memory of each stored node, by node id
  void* const* open = nullptr;     ///< the unfinished block of each sum over samples, by node id; null where none is needed
  const bool* needed = nullptr;    ///< by kernel group; null: all are needed
  std::byte* workspace = nullptr;
  std::int64_t batch = 0;          ///< samples in this micro-batch
  std::int64_t begin = 0;          ///< index in the window of its first sample
  bool first = true, last = true;  ///< whether it begins, and ends, the window
  std::int64_t held_from = 0;      ///< from this sample on, kernels that can hold unfinished blocks as rows do (`HeldRows`)
  Randomness random;
  cpu::Part part;                  ///< the part of each kernel that this thread computes
  const void* loop = nullptr;      ///< `Kernel::loop` of the kernel that runs
};

}  // namespace gradual
