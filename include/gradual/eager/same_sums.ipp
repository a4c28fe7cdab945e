#pragma once
#include <gradual/eager/same_sums.hpp>

#include <span>
#include <string_view>

#include <gradual/core/fnv.hpp>

namespace gradual::eager {

GRADUAL_ONCE bool same_sums(EagerTape& a, EagerTape& b) {
  Executor &x = a.values(), &y = b.values();
  const std::size_t count = x.unbatched().size();
  if (count != y.unbatched().size() || a.roots.size() != b.roots.size()) return false;
  for (std::size_t i = 0; i < count; ++i) {
    const Node &m = a[x.unbatched()[i]], &n = b[y.unbatched()[i]];
    if (!same_op(m, n) || !(m.shape == n.shape)) return false;
    if (is_input(m, Input::sample) &&
        x.input(static_cast<int>(m.attributes.integer[0])) != y.input(static_cast<int>(n.attributes.integer[0])))
      return false;
    for (int k = 0; k < m.op->arity; ++k)
      if (x.ordinal(m.in[k]) != y.ordinal(n.in[k]) ||
          (a[m.in[k]].shape.batched() && !(a[m.in[k]].shape == b[n.in[k]].shape)))
        return false;
  }
  for (std::size_t r = 0; r < a.roots.size(); ++r)
    if (a.roots[r].role != b.roots[r].role || x.ordinal(a.roots[r].node) != y.ordinal(b.roots[r].node)) return false;
  return true;
}

GRADUAL_ONCE std::uint64_t fingerprint_of_sums(EagerTape& tape) {
  std::uint64_t hash = fnv_begin;
  const auto add = [&](std::span<const std::byte> bytes) { hash = fnv(hash, bytes); };
  const auto add_number = [&](auto number) { add(std::as_bytes(std::span(&number, 1))); };
  const auto add_shape = [&](const Shape& shape) {
    add_number(shape.batch_axis);
    for (int i = 0; i < shape.rank; ++i) add_number(shape.extent[i]);
  };
  Executor& values = tape.values();
  for (const int id : values.unbatched()) {
    const Node& node = tape[id];
    add(std::as_bytes(std::span(std::string_view(node.op->name))));
    add_number(node.dtype);
    add_shape(node.shape);
    add_number(node.attributes.number);
    for (const std::int64_t integer : node.attributes.integer) add_number(integer);
    if (is_input(node, Input::sample))
      add({static_cast<const std::byte*>(values.input_on_host(node)),
           static_cast<std::size_t>(bytes_of(node.shape, 1, node.dtype))});
    for (int k = 0; k < node.op->arity; ++k) {
      add_number(values.ordinal(node.in[k]));
      if (tape[node.in[k]].shape.batched()) add_shape(tape[node.in[k]].shape);
    }
  }
  for (const Root& root : tape.roots) add_number(root.role), add_number(values.ordinal(root.node));
  return hash;
}

}  // namespace gradual::eager
