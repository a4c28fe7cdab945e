#pragma once
#include <gradual/autodiff/ops.hpp>
#include <gradual/core/cpu/part.hpp>
#include <gradual/core/cpu/thread_pool.hpp>
#include <gradual/eager/executor.hpp>
#include <gradual/eager/workspace.hpp>

namespace gradual::eager {

/// Computes to[i] = element begin + i of `from`, which has 16-bit elements.
void widen(DType dtype, const void* from, std::int64_t begin, std::int64_t count, float* to);

/// The memory that ops on the processor read, write and work in.
class CpuValues : public Executor {
 public:
  /// Returns the elements of a value in the type that they are computed in: 16-bit ones are floats while the op runs.
  /// Errors: MemoryError.
  template <class T>
  const T* read(const Tape& tape, int id) {
    const void* const data = dense(tape, id);
    if constexpr (std::is_same_v<T, float>)
      if (is_small(tape[id].dtype)) return widened(tape[id], data);
    return static_cast<const T*>(data);
  }
  /// Returns new memory for a node's results; those of 16 bits are rounded when the op has run.
  template <class T>
  T* create(const Tape& tape, int id) {
    void* const memory = allocate(tape, id);
    if (!is_small(tape[id].dtype)) return static_cast<T*>(memory);
    floats_.push_back(device_.allocate(bytes_of(tape[id].shape, batch_, DType::f32)));
    created_ = floats_.back().as<float>();
    kept_ = memory;
    return reinterpret_cast<T*>(created_);
  }

  /// Allocates and keeps workspace of so many elements for each thread, unless there is enough. Errors: MemoryError.
  template <class T>
  T* workspace(std::int64_t elements) {
    const std::int64_t bytes = elements * static_cast<std::int64_t>(sizeof(T)) * (pool_ == nullptr ? 1 : pool_->size());
    return workspace_.at_least<T>(device_, bytes);
  }
  /// Does the same for rows that all threads read.
  template <class T>
  T* rows(std::int64_t elements) {
    return rows_.at_least<T>(device_, elements * static_cast<std::int64_t>(sizeof(T)));
  }

  GRADUAL_BEGIN_LOOPS
  /// Calls f(part, workspace of `elements` elements): once or, if so many multiply-adds are worth it, on every thread.
  /// f must not throw. Errors: MemoryError.
  template <class T, class F>
  void share_out(std::int64_t work, std::int64_t elements, F f) {
    T* const space = workspace<T>(elements);
    const int count = pool_ == nullptr || work < cpu::worth_threads ? 1 : pool_->size();
    const auto job = [&](int index) __attribute__((noinline)) { f(cpu::Part{index, count}, space + index * elements); };
    if (count == 1) job(0);
    else pool_->run(job);
  }
  GRADUAL_END_LOOPS

 protected:
  /// The scope of an op that runs, with floats for 16-bit elements. Scopes nest, since its operands may have to be run first.
  class Running {
   public:
    Running(CpuValues& values, const Node& node);
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running();

   private:
    CpuValues& values_;
    const Node& node_;
    std::size_t outer_;
    float* created_;
    void* kept_;
  };

  /// Returns a node's computed elements in the node's own type. Errors: MemoryError.
  Storage kept_as(const Node& node, Storage computed);

  explicit CpuValues(const Device& device, cpu::ThreadPool* pool);

  void give_back_workspace() override { workspace_ = rows_ = {}; }

 private:
  void round(const Node& node, const float* from, void* to) const;
  const float* widened(const Node& node, const void* data);

  std::vector<Storage> floats_;  ///< for 16-bit elements
  float* created_ = nullptr;     ///< the one of these to be rounded to `kept_`
  void* kept_ = nullptr;
  cpu::ThreadPool* pool_;  ///< null: one thread only
  Workspace workspace_, rows_;
};

/// The cost of an element of an elementwise op or a reduction, in multiply-adds.
inline constexpr std::int64_t element_work = 16;

}  // namespace gradual::eager

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/eager/cpu/values.ipp>
#endif
