#pragma once
#include <gradual/autodiff/cpu/op_loops.hpp>
#include <gradual/eager/cpu/values.hpp>

namespace gradual::eager {

/// Finds the first largest element of each row; NaN counts as largest.
template <class T>
void argmax_rows(const T* x, std::int32_t* out, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t r = 0; r < rows; ++r, x += columns) {
    std::int64_t best = 0;
    for (std::int64_t c = 1; c < columns; ++c)
      if (x[best] == x[best] && (x[c] > x[best] || x[c] != x[c])) best = c;
    out[r] = static_cast<std::int32_t>(best);
  }
}

GRADUAL_BEGIN_LOOPS
/// Runs a reduction inside each sample; T is the operand's type. An op in no list runs through its scalar functor.
template <class T, class Known>
void run_row_reduce(CpuValues& values, const Known& known, const Tape& tape, int id) {
  const Node& node = tape[id];
  const Shape& from = tape[node.in[0]].shape;
  const T* x = values.read<T>(tape, node.in[0]);
  const std::int64_t rows = values.elements(node);
  const std::int64_t columns = from.product(from.rank - static_cast<int>(node.attributes.integer[0]), from.rank);
  const auto for_rows = [&](auto* out, auto reduce) {
    values.share_out<T>(rows * columns * element_work, 0, [&](cpu::Part part, T*) {
      const auto [first, last] = part.of(rows, 16);
      reduce(out + first, x + first * columns, last - first, columns);
    });
  };
  if (is<ArgMax>(node))
    return for_rows(values.create<std::int32_t>(tape, id),
                    [](auto* out, auto* in, auto r, auto c) { argmax_rows(in, out, r, c); });
  if constexpr (std::is_same_v<T, std::int32_t>) {
    throw TypeError(std::string(node.op->name) + ": integers cannot be reduced");
  } else {
    for_rows(values.create<T>(tape, id), [&](T* out, const T* in, std::int64_t r, std::int64_t c) {
      cpu::run_rows(*node.op, known.of(*node.op), out, in, r, c);
    });
  }
}
GRADUAL_END_LOOPS

}  // namespace gradual::eager
