#pragma once
#include <gradual/train/session_state.hpp>

#include <gradual/core/fnv.hpp>

namespace gradual::detail {

GRADUAL_ONCE std::string fingerprint(const SessionTables& tables) {
  const ProgramTables& program = tables.training;
  std::string text;
  const std::vector<int> numbers = numbers_without_repeats(program.nodes, program.first_adjoint);
  int next = 0;
  auto sum = tables.sums.begin();
  for (int i = 0; i < program.size(); ++i) {
    const Node& node = program.node(i);
    const bool is_sum = sum != tables.sums.end() && sum->node == i;
    const bool in_one_sum = is_sum && !sum->in_blocks;  // which another backend cannot continue
    if (is_sum) ++sum;
    if (numbers[static_cast<std::size_t>(i)] != next) continue;
    ++next;
    const auto operand = [&](int k) {
      return std::int64_t{node.in[k] < 0 ? -1 : numbers[static_cast<std::size_t>(node.in[k])]};
    };
    text += node.op->name + std::string(" in ") + name_of(node.dtype);
    if (in_one_sum) text += " in one sum";
    for (const std::int64_t number : {operand(0), operand(1), operand(2), node.attributes.integer[0],
                                      node.attributes.integer[1], std::int64_t{node.shape.batch_axis}})
      text += ' ' + exact_text(number);
    for (const std::int64_t extent : extents(node.shape)) text += ' ' + exact_text(extent);
    text += ' ' + exact_text(node.attributes.number);
  }
  return std::to_string(fnv(fnv_begin, std::as_bytes(std::span(text))));
}

}  // namespace gradual::detail
