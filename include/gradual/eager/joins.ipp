#pragma once
#include <gradual/eager/joins.hpp>

#include <algorithm>
#include <cmath>

#include <gradual/autodiff/ops/add.hpp>
#include <gradual/autodiff/ops/pad.hpp>

namespace gradual::eager {

GRADUAL_ONCE void Joins::find(const Tape& tape, const ValueTable& values, std::vector<int>& needed) {
  pieces_.clear();
  if (std::ranges::none_of(needed, [&](int id) { return tape[id].op->kind == Kind::pad; })) return;
  filled_.resize(tape.nodes.size());
  for (const int id : needed) at(id) = filled_by(tape, values, id);
  for (auto id = needed.rbegin(); id != needed.rend(); ++id) {
    const Filled& sum = at(*id);
    if (sum.axis < 0 || sum.inside || !is<Add>(tape[*id])) continue;
    if (sum.first > 0 || sum.last < tape[*id].shape.extent[sum.axis]) continue;
    collect(tape, *id);
  }
  if (!pieces_.empty()) std::erase_if(needed, [&](int id) { return at(id).inside; });
}

GRADUAL_ONCE Join Joins::of(int id) const {
  if (pieces_.empty()) return {};
  const Filled& whole = at(id);
  return {whole.axis, whole.negative ? -0.0 : 0.0, std::span(pieces_).subspan(whole.begin, whole.count)};
}

GRADUAL_ONCE bool Joins::is_part(const ValueTable& values, int id) const {
  const Value& value = values[id];
  return value.noted && value.uses == 1 && !value.kept && at(id).axis >= 0;
}

GRADUAL_ONCE Joins::Filled Joins::filled_by(const Tape& tape, const ValueTable& values, int id) const {
  const Node& node = tape[id];
  if (is<Pad>(node)) {
    const int axis = static_cast<int>(node.attributes.integer[0]), in = node.in[0];
    const std::int64_t first = node.attributes.integer[1], extent = tape[in].shape.extent[axis];
    const bool negative = std::signbit(node.attributes.number);
    if (node.attributes.number != 0 || extent == 0) return {};
    if (is_part(values, in) && at(in).axis == axis && at(in).negative == negative)
      return {axis, first + at(in).first, first + at(in).last, negative, true};
    return {axis, first, first + extent, negative};
  }
  if (!is<Add>(node) || !is_part(values, node.in[0]) || !is_part(values, node.in[1])) return {};
  const Filled &a = at(node.in[0]), &b = at(node.in[1]);
  if (a.axis != b.axis || a.negative != b.negative || (a.last != b.first && b.last != a.first)) return {};
  return {a.axis, std::min(a.first, b.first), std::max(a.last, b.last), a.negative};
}

GRADUAL_ONCE void Joins::collect(const Tape& tape, int join) {
  Filled& whole = at(join);
  whole.begin = pieces_.size();
  path_.assign(1, {join, 0});
  while (!path_.empty()) {
    const auto [id, first] = path_.back();
    path_.pop_back();
    const Node& node = tape[id];
    const bool sum = is<Add>(node);
    const std::int64_t place = first + (sum ? 0 : node.attributes.integer[1]);
    for (int k = 0; k < node.op->arity; ++k) {
      const JoinPiece in{node.in[k], place};
      const bool further = sum || at(id).through;
      if (further) at(in.node).inside = true;
      (further ? path_ : pieces_).push_back(in);
    }
  }
  whole.count = pieces_.size() - whole.begin;
}

}  // namespace gradual::eager
