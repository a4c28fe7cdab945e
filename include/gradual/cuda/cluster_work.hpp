#pragma once
#include <gradual/autodiff/flops.hpp>
#include <gradual/autodiff/group_table.hpp>
#include <gradual/cuda/gather.hpp>

namespace gradual::cuda {

/// The work of kernel groups, in multiply-adds of products; an element of a loop or a gather counts two, as do 32 indices that
/// a thread of a scatter searches for its row.
struct Work {
  std::int64_t once = 0, of_sample = 0;
  int kernels = 0;
};

template <class P>
constexpr Work work_of_groups(int begin, int end) {
  constexpr std::int64_t of_element = 2;
  Work work;
  work.kernels = end - begin;
  for (int g = begin; g < end; ++g)
    for (int m = 0; m < P::schedule.groups[g].count; ++m) {
      const int id = P::schedule.members[P::schedule.groups[g].first + m];
      if (P::schedule.is_inside_join(id)) continue;
      const Node& node = P::graph.nodes[id];
      const std::int64_t flops = own_flops_of(P::graph.nodes, id);
      const bool product = P::schedule.groups[g].kind != Kind::map && flops > 0;
      const Shape& shape = node.shape;
      if (node.op->kind == Kind::batch_scatter || node.op->kind == Kind::scatter_own)
        work.of_sample += scatter_threads(shape.extent[shape.rank - 2], shape.extent[shape.rank - 1]) / warp_size * of_element *
                          P::graph.nodes[node.in[1]].shape.unit();
      else (is_of_samples(node) ? work.of_sample : work.once) += product ? flops / 2 : node.shape.unit() * of_element;
    }
  return work;
}

/// The work that a cluster of blocks may be given for each launch that it saves. On an H200 a step of 64-128-10 with
/// 64 samples took 57 to 61 µs instead of 62.
inline constexpr std::int64_t work_worth_a_launch = 3 << 17;

/// Returns the most samples for which one cluster does this work no slower than a launch for each kernel; 0: none.
constexpr std::int64_t samples_in_one_cluster(const Work& work) {
  const std::int64_t left = work_worth_a_launch * (work.kernels - 1) - work.once;
  if (work.kernels < 2 || left < 0) return 0;
  return work.of_sample > 0 ? left / work.of_sample : std::int64_t{1} << 31;
}

}  // namespace gradual::cuda
