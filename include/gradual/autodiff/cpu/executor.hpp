#pragma once
#include <gradual/autodiff/cpu/loop_kernel.hpp>
#include <gradual/autodiff/cpu/matmul_kernel.hpp>
#include <gradual/core/cpu/thread_pool.hpp>

namespace gradual::cpu {

using Kernel = void (*)(const StepArguments&);

/// Runs kernels in order, those that are worth it on all threads of the pool, each with workspace of its own, one after
/// another. `work`: of each kernel for each sample. The bits do not depend on the number of threads.
[[gnu::noinline]] inline void run_kernels(const Kernel* kernels, const std::int64_t* work, int count, std::int64_t workspace,
                                          const StepArguments& arguments, ThreadPool* pool) {
  constexpr std::int64_t worth_threads = 1'000'000;  // about ten microseconds
  for (int g = 0; g < count; ++g) {
    if (pool == nullptr || work[g] * (arguments.batch > 0 ? arguments.batch : 1) < worth_threads) {
      kernels[g](arguments);
    } else {
      pool->run([&](int index) {
        StepArguments own = arguments;
        own.part = {index, pool->size()};
        own.workspace += index * workspace;
        kernels[g](own);
      });
    }
  }
}

/// Runs the kernels of program P (a tag with `graph` and `schedule`) in order.
template <class P>
class Executor {
  template <int G>
  static void run_group(const StepArguments& arguments) {
    if constexpr (P::schedule.groups[G].kind == Kind::map) LoopKernel<P, G>::run(arguments);
    else MatmulKernel<P, P::schedule.members[P::schedule.groups[G].first]>::run(arguments);
  }

  /// Work of a kernel for each sample; 0 where it cannot be cut.
  template <int G>
  static constexpr std::int64_t work_of() {
    if constexpr (P::schedule.groups[G].kind == Kind::map)
      return LoopKernel<P, G>::divisible() ? LoopKernel<P, G>::work() : 0;
    else
      return MatmulKernel<P, P::schedule.members[P::schedule.groups[G].first]>::work();
  }

  struct Table {
    Kernel run[P::schedule.group_count > 0 ? P::schedule.group_count : 1]{};
    std::int64_t work[P::schedule.group_count > 0 ? P::schedule.group_count : 1]{};
    template <int First = 0>
    constexpr void fill() {
      constexpr int left = P::schedule.group_count - First, count = left < 64 ? left : 64;
      fill_chunk<First>(std::make_integer_sequence<int, count>{});
      if constexpr (left > count) fill<First + count>();
    }
    template <int First, int... I>
    constexpr void fill_chunk(std::integer_sequence<int, I...>) {
      ((run[First + I] = &run_group<First + I>), ...);
      ((work[First + I] = work_of<First + I>()), ...);
    }
    constexpr Table() { fill(); }
  };
  static constexpr Table table{};

  template <int G>
  static constexpr std::int64_t workspace_of() {
    if constexpr (P::schedule.groups[G].kind == Kind::map) return 0;
    else return MatmulKernel<P, P::schedule.members[P::schedule.groups[G].first]>::workspace_bytes();
  }
  template <int First>
  static constexpr std::int64_t most_workspace() {
    constexpr int left = P::schedule.group_count - First, count = left < 64 ? left : 64;
    std::int64_t most = [&]<int... I>(std::integer_sequence<int, I...>) {
      std::int64_t result = 0;
      ((result = workspace_of<First + I>() > result ? workspace_of<First + I>() : result), ...);
      return result;
    }(std::make_integer_sequence<int, count>{});
    if constexpr (left > count) most = most_workspace<First + count>() > most ? most_workspace<First + count>() : most;
    return most;
  }

  /// Kernels are sorted by phase.
  static constexpr int first_of(int phase) {
    int g = 0;
    while (g < P::schedule.group_count && static_cast<int>(P::schedule.groups[g].phase) < phase) ++g;
    return g;
  }

 public:
  /// Bytes that kernels need while they run, one at a time.
  static constexpr std::int64_t workspace_bytes() { return most_workspace<0>(); }

  /// Runs the kernels of one phase on all threads of the pool (null: on this one alone).
  template <Phase Which>
  static void run(const StepArguments& arguments, ThreadPool* pool = nullptr) {
    constexpr int begin = first_of(static_cast<int>(Which)), end = first_of(static_cast<int>(Which) + 1);
    if constexpr (begin < end)
      run_kernels(table.run + begin, table.work + begin, end - begin, workspace_bytes(), arguments, pool);
  }
};

}  // namespace gradual::cpu
