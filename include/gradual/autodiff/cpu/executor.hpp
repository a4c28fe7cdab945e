#pragma once
#include <gradual/autodiff/cpu/loop_kernel.hpp>
#include <gradual/autodiff/cpu/matmul_kernel.hpp>

namespace gradual::cpu {

/// Runs the kernels of program P (a tag with `graph` and `schedule`) in order.
template <class P>
class Executor {
  using Run = void (*)(const StepArguments&);

  template <int G>
  static void run_group(const StepArguments& arguments) {
    if constexpr (P::schedule.groups[G].kind == Kind::map) LoopKernel<P, G>::run(arguments);
    else MatmulKernel<P, P::schedule.members[P::schedule.groups[G].first]>::run(arguments);
  }

  struct Table {
    Run run[P::schedule.group_count > 0 ? P::schedule.group_count : 1]{};
    template <int First = 0>
    constexpr void fill() {
      constexpr int left = P::schedule.group_count - First, count = left < 64 ? left : 64;
      fill_chunk<First>(std::make_integer_sequence<int, count>{});
      if constexpr (left > count) fill<First + count>();
    }
    template <int First, int... I>
    constexpr void fill_chunk(std::integer_sequence<int, I...>) {
      ((run[First + I] = &run_group<First + I>), ...);
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

  template <Phase Which>
  static void run(const StepArguments& arguments) {
    constexpr int begin = first_of(static_cast<int>(Which)), end = first_of(static_cast<int>(Which) + 1);
    for (int g = begin; g < end; ++g) table.run[g](arguments);
  }
};

}  // namespace gradual::cpu
