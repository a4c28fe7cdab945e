#pragma once
#include <gradual/cuda/cluster_work.hpp>
#include <gradual/cuda/executor.hpp>
#include <gradual/cuda/losses.hpp>

namespace gradual::cuda {

template <int G, class T>
struct TaskOf {
  T task;
};
template <class... Tasks>
struct AllTasks : Tasks... {};

template <class Part, class Tasks>
GRADUAL_KERNEL_OF(block_threads) void one_cluster_kernel(GRADUAL_IN_PLACE Tasks tasks, GRADUAL_IN_PLACE Losses losses,
                                                        const Step* step) {
  GRADUAL_SHARED_IN_CLUSTER typename Part::Shared shared;
  const Step here = *step;
  if (!here.skipped) Part::compute(tasks, losses, here, shared);
}

/// Kernel groups [Begin, End) of program P, computed one after another by one cluster of blocks, in one launch. The prologue is
/// skipped where a micro-batch does not begin a window; losses are sent before backward begins.
template <class P, class Products, int Begin, int End>
class OneCluster {
  template <int G>
  using Group = LaunchOf<P, Begin + G>;
  template <int G>
  using TaskAt = TaskOf<G, decltype(Group<G>::task(std::declval<const StepArguments&>()))>;
  template <int... G>
  static AllTasks<TaskAt<G>...> all_tasks(std::integer_sequence<int, G...>);
  using Indices = std::make_integer_sequence<int, End - Begin>;

  template <int... G>
  static constexpr std::size_t most_shared(std::integer_sequence<int, G...>) {
    std::size_t most = 0;
    ((most = sizeof(typename Group<G>::Shared) > most ? sizeof(typename Group<G>::Shared) : most), ...);
    return most;
  }
  template <int... G>
  static constexpr bool each_in_block(std::integer_sequence<int, G...>) {
    return (Group<G>::in_block && ...);
  }
  static constexpr Phase phase(int group) { return P::schedule.groups[Begin + group].phase; }
  template <int G>
  static constexpr bool once_a_window = phase(G) == Phase::prologue;
  /// Whether unfinished blocks of its sums are kept; else each micro-batch is summed alone and added, as a library would do.
  template <int G>
  static constexpr bool sums_in_blocks =
      Products::template sums_in_blocks<typename P::Shadow>(P::graph.nodes, P::template node<P::template first_of<Begin + G>>);
  template <int G>
  static constexpr bool begins_backward = phase(G) == Phase::backward && G > 0 && phase(G - 1) != Phase::backward;

 public:
  using Tasks = decltype(all_tasks(Indices{}));
  struct alignas(16) Shared {
    unsigned char bytes[most_shared(Indices{})];
  };
  /// Whether one launch can take all groups.
  static constexpr bool possible = each_in_block(Indices{}) && sizeof(Tasks) < 32'000 && sizeof(Shared) <= 48 * 1024;

  static void run(const Launch& launch, const Losses& losses) {
    launch.stream.launch_cluster(&one_cluster_kernel<OneCluster, Tasks>, cluster_blocks, block_threads,
                                 make_tasks(launch.arguments, Indices{}), losses, launch.step);
  }

  GRADUAL_DEVICE static void compute(const Tasks& tasks, const Losses& losses, const Step& step, Shared& shared) {
    compute_groups(tasks, losses, step, shared, Indices{});
  }

 private:
  template <int... G>
  static Tasks make_tasks(const StepArguments& a, std::integer_sequence<int, G...>) {
    return {TaskAt<G>{Group<G>::task(a)}...};
  }
  template <int... G>
  GRADUAL_DEVICE static void compute_groups(const Tasks& tasks, const Losses& losses, const Step& step, Shared& shared,
                                            std::integer_sequence<int, G...>) {
    (compute_group<G>(tasks, losses, step, shared), ...);
  }
  template <int G>
  GRADUAL_DEVICE static void compute_group(const Tasks& tasks, const Losses& losses, const Step& step, Shared& shared) {
    if constexpr (begins_backward<G>) {
      send_losses(losses, step);
      cluster_barrier();  // backward may overwrite them
    }
    if constexpr (once_a_window<G>)
      if (!step.first) return;
    Step of_group = step;
    if constexpr (!sums_in_blocks<G>) of_group.begin = 0, of_group.last = true;
    Group<G>::compute(static_cast<const TaskAt<G>&>(tasks).task, of_group,
                      reinterpret_cast<typename Group<G>::Shared&>(shared));
    cluster_barrier();
  }
};

/// Which of a program's kernels one cluster can compute in one launch.
template <class P>
struct LaunchesOf {
  static constexpr int first(Phase phase) { return first_group_of<P>(static_cast<int>(phase)); }
  static constexpr int boundary = first(Phase::boundary);
  static constexpr bool trains = first(Phase::forward) < first(Phase::backward) && first(Phase::backward) < boundary;
  static constexpr int most_groups = 64;  // in one fold expression

  /// Returns the most samples of a micro-batch that one launch of one cluster computes; 0: none. Where hardly any micro-batch
  /// would be that small, the kernel is not even compiled.
  static constexpr std::int64_t samples() {
    constexpr std::int64_t worth_compiling = 16;
    if constexpr (!trains || boundary > most_groups) {
      return 0;
    } else {
      constexpr std::int64_t most = samples_in_one_cluster(work_of_groups<P>(0, boundary));
      if constexpr (most < worth_compiling) return 0;
      else return OneCluster<P, CanonicalProducts, 0, boundary>::possible ? most : 0;
    }
  }
  /// Whether one cluster computes the work at a window's end.
  static constexpr bool end_in_one_cluster() {
    if constexpr (P::schedule.group_count - boundary < 2 || P::schedule.group_count - boundary > most_groups)
      return false;
    else if constexpr (samples_in_one_cluster(work_of_groups<P>(boundary, P::schedule.group_count)) == 0) return false;
    else return OneCluster<P, CanonicalProducts, boundary, P::schedule.group_count>::possible;
  }
};

}  // namespace gradual::cuda
