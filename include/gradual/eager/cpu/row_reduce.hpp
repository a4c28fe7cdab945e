#pragma once
#include <gradual/core/cpu/copy_row.hpp>
#include <gradual/eager/cpu/kernels.hpp>
#include <gradual/eager/cpu/values.hpp>

namespace gradual::eager {

/// The first largest element of each row; NaN is the largest.
template <class T>
void argmax_rows(const T* x, std::int32_t* out, std::int64_t rows, std::int64_t columns) {
  const auto number = [](T element) __attribute__((always_inline)) { return static_cast<Computed<T>>(element); };
  for (std::int64_t r = 0; r < rows; ++r, x += columns) {
    std::int64_t best = 0;
    for (std::int64_t c = 1; c < columns; ++c)
      if (const auto most = number(x[best]), here = number(x[c]); most == most && (here > most || here != here)) best = c;
    out[r] = static_cast<std::int32_t>(best);
  }
}

/// A reduction inside each sample; E is the type of what is reduced. One that no list names runs through its scalar functor.
template <class E, class Table>
void run_row_reduce(CpuValues& values, const Table& table, const Tape& tape, int id) {
  using T = Computed<E>;
  constexpr std::int64_t together = 16;
  const Node& node = tape[id];
  const Shape& from = tape[node.in[0]].shape;
  const E* x = values.read<E>(tape, node.in[0]);
  const std::int64_t rows = values.elements(node);
  const std::int64_t columns = from.product(from.rank - static_cast<int>(node.attributes.integer[0]), from.rank);
  const auto for_rows = [&](auto* out, std::int64_t space_of_each, auto reduce) {
    values.share_out<T>(rows * columns * element_work, space_of_each * together, [&](cpu::Part part, T* space) {
      const auto [first, last] = part.of(rows, together);
      reduce(out + first, x + first * columns, last - first, columns, space);
    });
  };
  if (is<ArgMax>(node))
    return for_rows(values.create<std::int32_t>(tape, id), 0,
                    [](auto* out, auto* in, auto r, auto c, T*) { argmax_rows(in, out, r, c); });
  if constexpr (std::is_same_v<T, std::int32_t>) {
    throw TypeError(std::string(node.op->name) + ": integers are not reduced");
  } else {
    RowLoop<T> loop;
    if constexpr (sizeof(T) == 4) loop = table.of(*node.op).row_f32;
    else loop = table.of(*node.op).row_f64;
    const auto reduce = [&](T* out, const T* in, std::int64_t r, std::int64_t c) {
      if (loop != nullptr) return loop(out, in, r, c);
      detail::reduce_rows(out, in, r, c, static_cast<T>(node.op->identity), [&](T a, T b) {
        if constexpr (sizeof(T) == 4) return node.op->f32(a, b, 0);
        else return node.op->f64(a, b, 0);
      });
    };
    E* const to = values.create<E>(tape, id);
    if constexpr (is_small_float<E>)
      for_rows(to, columns + 1, [&](E* out, const E* in, std::int64_t r, std::int64_t c, T* space) {
        for (; r > 0; r -= together, in += together * c, out += together) {
          const std::int64_t here = std::min(together, r);
          cpu::copy_row(in, here * c, space);
          reduce(space + together * c, space, here, c);
          cpu::copy_row(space + together * c, here, out);
        }
      });
    else
      for_rows(to, 0, [&](T* out, const T* in, std::int64_t r, std::int64_t c, T*) { reduce(out, in, r, c); });
  }
}

}  // namespace gradual::eager
