#pragma once
#include <gradual/eager/cpu/block_product.hpp>

namespace gradual::eager {

/// c[m×n] = op(a)·op(b) in canonical order, all row-major: a is m×k (k×m where trans_a), b is k×n (n×k where trans_b).
/// `panel`: cpu::panel_elements<T> elements to work in.
template <class T>
void matmul(const T* a, bool trans_a, const T* b, bool trans_b, T* c, std::int64_t m, std::int64_t n, std::int64_t k,
            T* panel) {
  if (k == 0)
    for (std::int64_t i = 0; i < m * n; ++i) c[i] = T(0);
  for (std::int64_t at = 0; at < k; at += canonical_block) {
    const std::int64_t steps = k - at < canonical_block ? k - at : canonical_block;
    const T* from = trans_b ? b + at : b + at * n;
    const BlockEnds<T> ends{c, c, false, true, at == 0};
    if (trans_a)
      block_product(a + at * m, cpu::Static<1>{}, m, from, trans_b ? k : n, trans_b, m, n, steps, ends, panel);
    else
      block_product(a + at, k, cpu::Static<1>{}, from, trans_b ? k : n, trans_b, m, n, steps, ends, panel);
  }
}

}  // namespace gradual::eager
