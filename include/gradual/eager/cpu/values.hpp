#pragma once
#include <algorithm>

#include <gradual/core/cpu/part.hpp>
#include <gradual/core/cpu/thread_pool.hpp>
#include <gradual/eager/executor.hpp>

namespace gradual::eager {

/// What ops on the processor read, write and work in.
class CpuValues : public Executor {
 public:
  template <class T>
  const T* read(const Tape& tape, int id) {
    return static_cast<const T*>(dense(tape, id));
  }
  /// New memory for a node's elements.
  template <class T>
  T* create(const Tape& tape, int id) {
    return static_cast<T*>(allocate(tape, id));
  }
  std::int64_t elements(const Node& node) const { return node.shape.elements(batch_); }

  /// Takes workspace of so many elements for each thread, unless it has been taken; it is kept. Errors: MemoryError.
  template <class T>
  T* workspace(std::int64_t elements) {
    const std::int64_t bytes = elements * static_cast<std::int64_t>(sizeof(T)) * (pool_ == nullptr ? 1 : pool_->size());
    if (bytes > workspace_bytes_) {
      workspace_ = device_.allocate(bytes, Category::workspace);
      workspace_bytes_ = bytes;
    }
    return workspace_.as<T>();
  }

  /// Calls f(part, workspace of `elements` elements): once or, where that many multiply-adds are worth it, on every thread.
  /// f must not throw. Errors: MemoryError.
  template <class T, class F>
  void share_out(std::int64_t work, std::int64_t elements, F f) {
    constexpr std::int64_t worth_threads = 1'000'000;  // about ten microseconds
    T* const space = workspace<T>(elements);
    const int count = pool_ == nullptr || work < worth_threads ? 1 : pool_->size();
    const auto job = [&](int index) __attribute__((noinline)) { f(cpu::Part{index, count}, space + index * elements); };
    if (count == 1) job(0);
    else pool_->run(job);
  }

 protected:
  explicit CpuValues(const Device& device, cpu::ThreadPool* pool) : Executor(device), pool_(pool) {
    if (pool_ != nullptr) sweep_elements_ = std::int64_t{pool_->size()} << 16;  // worth sharing out
  }

 private:
  cpu::ThreadPool* pool_;  ///< null: one thread does it all
  Storage workspace_;
  std::int64_t workspace_bytes_ = 0;
};

/// What an element of an elementwise op or a reduction costs, in multiply-adds.
inline constexpr std::int64_t element_work = 16;

}  // namespace gradual::eager
