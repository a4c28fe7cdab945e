#pragma once
#include <cstring>

#include <gradual/core/free_memory.hpp>
#include <gradual/core/block.hpp>
#include <gradual/cuda/simt.hpp>

namespace gradual::cuda {

inline std::int64_t free_memory() { return gradual::free_memory(); }

inline bool device_found() { return true; }

using Memory = HeapBlock;

class Pinned {
 public:
  Pinned() = default;
  explicit Pinned(std::int64_t bytes) : block_(bytes) {}
  std::byte* data() const { return block_.data(); }

 private:
  HeapBlock block_;
};

struct Recording {};

/// The order in which the twin's threads take turns: tests try both.
inline bool twin_runs_backwards = false;

class Stream {
 public:
  void copy(void* to, const void* from, std::int64_t bytes) const { std::memmove(to, from, static_cast<std::size_t>(bytes)); }
  void clear(void* to, std::int64_t bytes) const { std::memset(to, 0, static_cast<std::size_t>(bytes)); }
  void wait() const {}
  template <class... A>
  void launch(void (*kernel)(A...), std::int64_t blocks, int threads, A... arguments) const {
    twin::Grid(blocks, threads, [&] { kernel(arguments...); }, twin_runs_backwards);
  }
  template <class F>
  void replay(Recording&, F record) const {
    record();
  }
};

}  // namespace gradual::cuda
