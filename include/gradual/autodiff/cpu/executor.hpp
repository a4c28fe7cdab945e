#pragma once
#include <algorithm>

#include <gradual/autodiff/cpu/convolution_kernel.hpp>
#include <gradual/autodiff/cpu/gather_kernel.hpp>
#include <gradual/autodiff/cpu/matmul_kernel.hpp>
#include <gradual/autodiff/cpu/own_rows_kernel.hpp>
#include <gradual/autodiff/cpu/pooling_kernel.hpp>
#include <gradual/autodiff/group_table.hpp>
#include <gradual/core/cpu/thread_pool.hpp>
#if GRADUAL_INTERPRETED_LOOPS
#include <gradual/autodiff/cpu/interpreted_loop.hpp>
#else
#include <gradual/autodiff/cpu/loop_kernel.hpp>
#endif

namespace gradual::cpu {

/// What else a kernel does if it keeps a sum's unfinished blocks as rows (`HeldRows`).
struct HoldingRows {
  int node = -1;                                   ///< that sum; −1: none
  std::int64_t block = 1;                          ///< samples of a block
  void (*before)(const StepArguments&) = nullptr;  ///< before the kernel runs: keeps the rows of a block begun earlier
  void (*after)(const StepArguments&) = nullptr;   ///< after it has run: those of a block that it leaves unfinished
  void (*sum)(const StepArguments&, void* open) = nullptr;  ///< sums what is held, as `Cpu::Queue::sum_held` does

  /// Returns how many samples are held of the block that this micro-batch continues; `held_after`, of the one that the next
  /// continues.
  std::int64_t held(const StepArguments& s) const { return held(s, s.begin); }
  std::int64_t held_after(const StepArguments& s) const { return s.last ? 0 : held(s, s.begin + s.batch); }

 private:
  std::int64_t held(const StepArguments& s, std::int64_t position) const {
    const std::int64_t samples = position % block;
    return position - samples >= s.held_from ? samples : 0;
  }
};

/// One kernel of a program.
struct Kernel {
  void (*run)(const StepArguments&) = nullptr;
  std::int64_t work = 0;         ///< for each sample; 0 if it cannot be split
  std::int64_t workspace = 0;    ///< bytes that it needs while it runs
  const void* loop = nullptr;    ///< what tells it from other loops with its code: its `LoopPlaces` or `InterpretedLoop`
};

/// Calls a kernel whose code others share: a function for each kernel would take long to compile. Other kernels get the
/// arguments as they are: copying them for all kernels of a phase makes the smallest nets 4% slower.
struct OneOfSeveral {
  const Kernel& kernel;

  void operator()(const StepArguments& arguments) const {
    StepArguments own = arguments;
    own.loop = kernel.loop;
    kernel.run(own);
  }
};

/// Runs one kernel, on all threads of the pool if its work is worth it, each with its own workspace; these lie side by side.
/// Inlined, since a small net's kernels take no longer than a call.
template <class F>
GRADUAL_INLINE void run_kernel(F run, std::int64_t work, std::int64_t workspace, const StepArguments& arguments,
                               ThreadPool* pool) {
  if (pool == nullptr || work < worth_threads) return run(arguments);
  pool->run([&](int index) {
    StepArguments own = arguments;
    own.part = arguments.part.of_thread(index, pool->size());
    own.workspace += index * workspace;
    run(own);
  });
}

/// The kernels of a program, type-erased.
struct ProgramKernels {
  const Kernel* kernels = nullptr;
  const HoldingRows* holds = nullptr;  ///< what else each kernel does
  bool any_holds = false;              ///< whether any keeps rows
  int first[phase_count + 1]{};        ///< the first of each phase, then their total number
  std::int64_t workspace = 0;          ///< bytes that a kernel needs while it runs; they run one at a time

  /// Calls f(kernel, what else it does) for the kernels that keep unfinished blocks as rows.
  template <class F>
  constexpr void for_holding(F f) const {
    for (int g = 0; any_holds && g < first[phase_count]; ++g)
      if (holds[g].node >= 0) f(kernels[g], holds[g]);
  }

  /// Runs the kernels of one phase in order, on all threads of the pool (null: on this one alone). The bits do not depend on
  /// the number of threads.
  [[gnu::noinline]] void run(Phase which, const StepArguments& arguments, ThreadPool* pool) const {
    const std::int64_t samples = arguments.batch > 0 ? arguments.batch : 1;
    const bool* const needed = arguments.needed;
    for (int g = first[static_cast<int>(which)]; g < first[static_cast<int>(which) + 1]; ++g) {
      if (needed != nullptr && !needed[g]) continue;
      if (!any_holds || holds[g].node < 0) {
        const std::int64_t work = kernels[g].work * samples;
        if (kernels[g].loop == nullptr) run_kernel(kernels[g].run, work, workspace, arguments, pool);
        else run_kernel(OneOfSeveral{kernels[g]}, work, workspace, arguments, pool);
        continue;
      }
      const HoldingRows& holding = holds[g];
      const std::int64_t held = holding.held(arguments), work = kernels[g].work * (held + samples);
      if (held > 0) run_kernel(holding.before, work, workspace, arguments, pool);
      run_kernel(kernels[g].run, work, workspace, arguments, pool);
      if (holding.held_after(arguments) > 0) run_kernel(holding.after, work, workspace, arguments, pool);
    }
  }
};

/// The kernels of program P (a tag with `graph` and `schedule`).
template <class P>
class Executor {
  /// The kernel of an op that stands alone.
  template <int Id>
  static constexpr auto kernel_of() {
    constexpr Kind kind = P::template node<Id>.op->kind;
    if constexpr (kind == Kind::convolve || kind == Kind::batch_convolve) return std::type_identity<ConvolutionKernel<P, Id>>{};
    else if constexpr (kind == Kind::pool) return std::type_identity<PoolingKernel<P, Id>>{};
    else if constexpr (kind == Kind::gather || kind == Kind::batch_scatter) return std::type_identity<GatherKernel<P, Id>>{};
    else if constexpr (kind == Kind::gather_own || kind == Kind::scatter_own) return std::type_identity<OwnRowsKernel<P, Id>>{};
    else return std::type_identity<MatmulKernel<P, Id>>{};
  }

  template <int G>
  using Alone = typename decltype(kernel_of<P::template first_of<G>>())::type;

  template <int G>
  struct Make {
    static constexpr Kernel kernel() {
      if constexpr (P::template group<G>.kind == Kind::map) {
        constexpr std::int64_t work = loop_forms<P>[G].divisible() ? loop_forms<P>[G].work() : 0;
#if GRADUAL_INTERPRETED_LOOPS
        return {&interpret_loop, work, 0, &interpreted_loop<P, G>};
#else
        constexpr bool shared = loop_codes<P>.shared[G];
        return {&LoopKernel<P, loop_codes<P>.code[G], shared>::run, work, 0, shared ? &loop_places<P, G> : nullptr};
#endif
      } else {
        return {&Alone<G>::run, Alone<G>::work(), Alone<G>::workspace_bytes(), nullptr};
      }
    }
    static constexpr Kernel value = kernel();
  };
  template <int G>
  struct MakeHolding {
    static constexpr HoldingRows holding() {
      if constexpr (P::template group<G>.kind != Kind::map) {
        using Of = Alone<G>;
        if constexpr (Of::holds_rows)
          return {P::template first_of<G>, Of::block_samples(), &Of::template hold<true>, &Of::template hold<false>,
                  &Of::sum_held};
      }
      return {};
    }
    static constexpr HoldingRows value = holding();
  };
  static constexpr GroupTable<P, Kernel, Make> table{};
  static constexpr GroupTable<P, HoldingRows, MakeHolding> holding{};

  static constexpr ProgramKernels find() {
    ProgramKernels result;
    for (int phase = 0; phase <= phase_count; ++phase) result.first[phase] = first_group_of<P>(phase);
    result.kernels = &table[0];
    result.holds = &holding[0];
    for (int g = 0; g < P::schedule.group_count; ++g) {
      result.workspace = std::max(result.workspace, table[g].workspace);
      result.any_holds = result.any_holds || holding[g].node >= 0;
    }
    return result;
  }

 public:
  static constexpr ProgramKernels kernels = find();
};

}  // namespace gradual::cpu
