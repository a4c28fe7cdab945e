#pragma once
#include <gradual/autodiff/ops.hpp>
#include <gradual/core/cpu/part.hpp>
#include <gradual/core/cpu/thread_pool.hpp>
#include <gradual/eager/executor.hpp>

namespace gradual::eager {

/// to[i] = element begin + i of `from`, which have 16 bits.
void widen(DType dtype, const void* from, std::int64_t begin, std::int64_t count, float* to);

/// What ops on the processor read, write and work in.
class CpuValues : public Executor {
 public:
  /// The elements of a value as what they are computed in: those of 16 bits are floats while the op is run.
  /// Errors: MemoryError.
  template <class T>
  const T* read(const Tape& tape, int id) {
    const void* const data = dense(tape, id);
    if constexpr (std::is_same_v<T, float>)
      if (is_small(tape[id].dtype)) return widened(tape[id], data);
    return static_cast<const T*>(data);
  }
  /// New memory for what a node computes; what it keeps in 16 bits is rounded when the op has been run.
  template <class T>
  T* create(const Tape& tape, int id) {
    void* const memory = allocate(tape, id);
    if (!is_small(tape[id].dtype)) return static_cast<T*>(memory);
    floats_.push_back(device_.allocate(bytes_of(tape[id].shape, batch_, DType::f32)));
    created_ = floats_.back().as<float>();
    kept_ = memory;
    return reinterpret_cast<T*>(created_);
  }
  std::int64_t elements(const Node& node) const { return node.shape.elements(batch_); }

  /// Takes workspace of so many elements for each thread, unless it has been taken; it is kept. Errors: MemoryError.
  template <class T>
  T* workspace(std::int64_t elements) {
    const std::int64_t bytes = elements * static_cast<std::int64_t>(sizeof(T)) * (pool_ == nullptr ? 1 : pool_->size());
    return workspace_.at_least<T>(device_, bytes);
  }
  /// The same for rows that all threads read.
  template <class T>
  T* rows(std::int64_t elements) {
    return rows_.at_least<T>(device_, elements * static_cast<std::int64_t>(sizeof(T)));
  }

  GRADUAL_BEGIN_LOOPS
  /// Calls f(part, workspace of `elements` elements): once or, where that many multiply-adds are worth it, on every thread.
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
  /// While an op is run: floats stand for elements of 16 bits. What it reads may have to be run first.
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

  /// What a node was computed in, in the node's own type. Errors: MemoryError.
  Storage kept_as(const Node& node, Storage computed);

  explicit CpuValues(const Device& device, cpu::ThreadPool* pool);

  void give_back_workspace() override { workspace_ = rows_ = {}; }

 private:
  void round(const Node& node, const float* from, void* to) const;
  const float* widened(const Node& node, const void* data);

  std::vector<Storage> floats_;  ///< of elements of 16 bits
  float* created_ = nullptr;     ///< of these, what becomes the elements at `kept_`
  void* kept_ = nullptr;
  cpu::ThreadPool* pool_;  ///< null: one thread does it all
  /// Memory that is kept, and replaced where there is too little.
  struct Kept {
    Storage storage;
    std::int64_t bytes = 0;
    template <class T>
    T* at_least(const Device& device, std::int64_t wanted) {
      if (wanted > bytes) {
        storage = device.allocate(wanted, Category::workspace);
        bytes = wanted;
      }
      return storage.as<T>();
    }
  };
  Kept workspace_, rows_;
};

/// What an element of an elementwise op or a reduction costs, in multiply-adds.
inline constexpr std::int64_t element_work = 16;

}  // namespace gradual::eager

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/eager/cpu/values.ipp>
#endif
