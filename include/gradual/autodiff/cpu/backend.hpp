#pragma once
#include <atomic>
#include <cstring>
#include <memory>

#include <gradual/autodiff/cpu/executor.hpp>
#include <gradual/core/compensated.hpp>
#include <gradual/core/cpu/share.hpp>
#include <gradual/core/free_memory.hpp>
#include <gradual/core/heap_block.hpp>
#include <gradual/core/math/all_finite.hpp>
#include <gradual/core/numerics_check.hpp>

namespace gradual {

/// The backend that runs compiled programs on the processor. A backend is a struct like this one: its memory, the form of a
/// program's kernels (`kernels_of`), a queue that runs them phase by phase and moves bytes between that memory and the host's,
/// and the bytes that they need.
struct Cpu {
  using Memory = HeapBlock;
  using Kernels = cpu::ProgramKernels;
  template <class Program>
  static constexpr Kernels kernels_of = cpu::Executor<Program>::kernels;
  static constexpr bool shares_host_memory = true;  ///< kernels read the caller's samples in place

  /// Errors: NumericsError if results would not be reproducible.
  static void check_numerics() { gradual::check_numerics(); }
  /// Returns how many bytes could still be allocated.
  static std::int64_t free_memory() { return gradual::free_memory(); }

  /// `batch`: most samples of a micro-batch.
  template <class Program>
  static constexpr std::int64_t workspace_bytes(int threads, std::int64_t /*batch*/) {
    return kernels_of<Program>.workspace * threads;
  }

  /// Whether a sum over samples, in S, is summed block by block and needs memory for an unfinished block.
  template <class S>
  static constexpr bool sums_in_blocks(const Node*, const Node&) {
    return true;
  }

  /// Calls f(node) for the sums whose unfinished blocks can be kept as rows, in the memory of their chains.
  template <class Program, class F>
  static constexpr void for_held_sums(F f) {
    kernels_of<Program>.for_holding([&](const cpu::Kernel&, const cpu::HoldingRows& holding) { f(holding.node); });
  }

  /// Returns the bytes of host memory, besides the two blocks, for so many bytes of samples and of losses in a micro-batch.
  static constexpr std::int64_t pinned_bytes(std::int64_t /*samples*/, std::int64_t /*losses*/) { return 0; }

  class Queue {
   public:
    /// Micro-batches whose samples lie in the backend's memory at once: with two, it computes while the host goes on.
    static constexpr int places = 1;

    explicit Queue(int threads) {
      if (threads > 1) pool_ = std::make_unique<cpu::ThreadPool>(threads);
    }
    /// A stand-in for a GPU queue's `OnDevice`, since there may be several GPUs.
    struct Anywhere {};
    static Anywhere on_device() { return {}; }
    /// Returns its threads, or null if there is only one.
    cpu::ThreadPool* pool() const { return pool_.get(); }
    /// Prepares for other addresses. `capacity`: the most samples of a micro-batch; `samples`, `losses`: the most bytes of its
    /// inputs and of its losses.
    void plan(std::int64_t /*capacity*/, std::int64_t /*samples*/, std::int64_t /*losses*/) {}
    static constexpr std::int64_t pinned_bytes() { return 0; }

    void run(const Kernels& kernels, Phase which, const StepArguments& arguments) const {
      kernels.run(which, arguments, pool());
    }

    /// Sums the held rows of a sum when a window has come to sample `begin`: into `open`, in the workspace of one thread, or,
    /// if null, into the total.
    void sum_held(const Kernels& kernels, int node, const StepArguments& arguments, void* open) const {
      kernels.for_holding([&](const cpu::Kernel& kernel, const cpu::HoldingRows& holding) {
        if (holding.node == node)
          cpu::run_kernel([&](const StepArguments& s) { holding.sum(s, open); }, kernel.work * holding.held(arguments),
                          kernels.workspace, arguments, open == nullptr ? pool() : nullptr);
      });
    }

    /// Copies from and to the host, and within the backend's memory; `wait` returns when all of it is done.
    void write(void* to, const void* host, std::int64_t bytes) const { copy(to, host, bytes); }
    /// Does the same for a few bytes that only programs read.
    void tell(void* to, const void* host, std::int64_t bytes) const { copy(to, host, bytes); }
    void read(void* host, const void* from, std::int64_t bytes) const { copy(host, from, bytes); }
    void copy(void* to, const void* from, std::int64_t bytes) const {
      cpu::share(pool(), bytes, [&](Range part) { copy_part(to, from, part); });
    }
    void wait() const {}
    void clear(void* to, std::int64_t bytes) const { std::memset(to, 0, static_cast<std::size_t>(bytes)); }
    /// to[i] += from[i].
    template <class W, class E>
    void add(W* to, const E* from, std::int64_t count) const {
      cpu::share(pool(), count, [&](Range part) { add_part(to, from, part); });
    }
    /// Turns complete sums into numbers, in place.
    template <class Part>
    void complete(Compensated<Part>* sums, std::int64_t count) const {
      cpu::share(pool(), count, [&](Range part) { complete_part(sums, part); });
    }

    /// Whether no value is infinite or NaN.
    template <class T>
    bool all_finite(const T* values, std::int64_t count) const {
      std::atomic<bool> finite = true;
      cpu::share(pool(), count, [&](Range part) {
        const bool here = math::all_finite(view(values + part.begin, part.end - part.begin));
        if (!here) finite.store(false, std::memory_order_relaxed);
      });
      return finite;
    }

    /// Does `work`, which runs these kernels, if no value is infinite or NaN. Returns whether it did.
    template <class T, class F>
    bool run_if_finite(const Kernels&, const T* values, std::int64_t count, F work) const {
      const bool finite = all_finite(values, count);
      if (finite) work();
      return finite;
    }

    /// Returns where the samples of a micro-batch are assembled.
    std::byte* stage(std::byte* to) const { return to; }

    /// Replaces pointers to arrays of the last run's losses, `unit` values for each sample, by addresses that the host can read
    /// after `wait_for` the number returned, until more is fetched than there are places.
    template <class E>
    int fetch(const E** /*values*/, int /*arrays*/, std::int64_t /*unit*/) const {
      return 0;
    }
    void wait_for(int /*fetched*/) const {}
    /// Returns values that the host can read: a span, or a vector if they are copied.
    template <class T>
    std::span<const T> view(const T* values, std::int64_t count) const {
      return {values, static_cast<std::size_t>(count)};
    }

   private:
    using Range = cpu::Part::Range;
    static void copy_part(void* to, const void* from, Range part) {
      if (part.begin == part.end) return;  // of a net without parameters, for example, which have no address
      std::memmove(static_cast<std::byte*>(to) + part.begin, static_cast<const std::byte*>(from) + part.begin,
                   static_cast<std::size_t>(part.end - part.begin));
    }
    // Kept out of code that a compiler considers rare, so that these loops are vectorised.
    template <class W, class E>
    [[gnu::noinline, gnu::hot]] static void add_part(W* to, const E* from, Range part) {
      for (std::int64_t i = part.begin; i < part.end; ++i) to[i] += from[i];
    }
    template <class Part>
    [[gnu::noinline, gnu::hot]] static void complete_part(Compensated<Part>* sums, Range part) {
      GRADUAL_IVDEP
      for (std::int64_t i = part.begin; i < part.end; ++i) gradual::complete(sums[i]);
    }

    std::unique_ptr<cpu::ThreadPool> pool_;
  };
};

}  // namespace gradual
