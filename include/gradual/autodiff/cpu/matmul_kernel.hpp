#pragma once
#include <gradual/autodiff/fuse.hpp>
#include <gradual/autodiff/step_arguments.hpp>
#include <gradual/core/canonical.hpp>
#include <gradual/core/math/fma.hpp>

namespace gradual::cpu {

/// The matrix products of group G of program P.
template <class P, int G>
class MatmulKernel {
  static constexpr int id = P::schedule.members[P::schedule.groups[G].first];
  static constexpr Node node = P::graph.nodes[id];
  static constexpr Shape a_shape = P::graph.nodes[node.in[0]].shape, b_shape = P::graph.nodes[node.in[1]].shape;
  using T = std::conditional_t<node.dtype == DType::f64, double, float>;

 public:
  static void run(const StepArguments& s) {
    const T* a = static_cast<const T*>(s.address[P::schedule.storage[node.in[0]]]);
    const T* b = static_cast<const T*>(s.address[P::schedule.storage[node.in[1]]]);
    T* c = static_cast<T*>(s.address[id]);
    if constexpr (node.op->kind == Kind::batch_contract) {
      constexpr std::int64_t rows = a_shape.extent[1], columns = b_shape.extent[1], p = a_shape.extent[0];
      T* open = static_cast<T*>(s.open[id]);
      if (s.first)
        for (std::int64_t i = 0; i < rows * columns; ++i) c[i] = 0;
      const std::int64_t begin = s.begin * p, end = begin + s.batch * p;
      for (std::int64_t at = begin; at < end; ++at) {
        if (block_begin(at, p) == at)
          for (std::int64_t i = 0; i < rows * columns; ++i) open[i] = 0;
        for (std::int64_t i = 0; i < rows; ++i)
          for (std::int64_t j = 0; j < columns; ++j)
            open[i * columns + j] = math::fma(a[(at - begin) * rows + i], b[(at - begin) * columns + j], open[i * columns + j]);
        if (block_end(at, p) == at + 1 || (s.last && at + 1 == end))
          for (std::int64_t i = 0; i < rows * columns; ++i) c[i] += open[i];
      }
    } else {
      constexpr bool ta = node.attributes.integer[0] & 1, tb = node.attributes.integer[0] & 2;
      const std::int64_t m = a_shape.extent[ta ? 1 : 0] * (node.shape.batched() ? s.batch : 1);
      const std::int64_t n = b_shape.extent[tb ? 0 : 1], k = a_shape.extent[ta ? 0 : 1];
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          T total = 0;
          for (std::int64_t block = 0; block < k; block += canonical_block) {
            T chain = 0;
            for (std::int64_t l = block; l < k && l < block + canonical_block; ++l)
              chain = math::fma(a[ta ? l * m + i : i * k + l], b[tb ? j * k + l : l * n + j], chain);
            total += chain;
          }
          c[i * n + j] = total;
        }
    }
  }
};

}  // namespace gradual::cpu
