#pragma once
#include <algorithm>
#include <string_view>

#include <gradual/core/error.hpp>
#include <gradual/train/session_layout.hpp>

namespace gradual::detail {

/// A text that is built without allocating.
using MemoryMessage = FixedText<2000>;

/// The five largest buffers of those added.
class LargestBuffers {
 public:
  static constexpr int most = 5;

  void add(std::int64_t bytes, const Message& what) {
    if (bytes <= 0 || (count_ == most && bytes <= bytes_[most - 1])) return;
    int at = count_ < most ? count_++ : most - 1;
    for (; at > 0 && bytes_[at - 1] < bytes; --at) bytes_[at] = bytes_[at - 1], what_[at] = what_[at - 1];
    bytes_[at] = bytes;
    what_[at] = what;
  }
  void print(MemoryMessage& out) const {
    for (int i = 0; i < count_; ++i) out << "\n  " << bytes_[i] << " B: " << what_[i].view();
  }

 private:
  int count_ = 0;
  std::int64_t bytes_[most]{};
  Message what_[most]{};
};

/// Returns "matmul in layer 'hidden'", or the same of the adjoint.
inline Message name_of(const Node& node, bool adjoint, const ParameterInfo* parameters) {
  Message text;
  text << (adjoint ? "backward's " : "") << node.op->name;
  const std::string_view layer = layer_name(node, parameters);
  return layer.empty() ? text : text << " in layer '" << layer << "'";
}

/// Returns those of a layout; `gather`: including its inputs.
inline LargestBuffers largest_buffers(const SessionLayout& layout, bool gather) {
  const SessionTables& of = layout.tables();
  const ProgramTables& program = of.training;
  LargestBuffers result;
  for (int p = 0; p < static_cast<int>(program.parameters.size()); ++p) {
    const std::string_view name = of.parameters[static_cast<std::size_t>(p)].name.view();
    result.add(of.part_elements(0, p) * of.real_bytes, Message() << "parameter '" << name << "'");
    result.add(of.part_elements(1, p) * of.shadow_bytes, Message() << "gradient of '" << name << "'");
    std::int64_t state = 0;
    for (int a = 2; a < of.arrays(); ++a) state += of.part_elements(a, p) * of.real_bytes;
    result.add(state, Message() << "optimizer state of '" << name << "'");
  }
  const auto name = [&](int node) {
    return name_of(program.node(node), node >= program.first_adjoint, program.parameters.data());
  };
  for (const SampleSum& sum : of.sums) {
    if (sum.parameter < 0) result.add(of.node_bytes(sum), Message() << "window's sum of " << name(sum.node).view());
    if (layout.needs_open(sum)) result.add(of.open_bytes(sum), Message() << "open block of " << name(sum.node).view());
  }
  for (int i = 0; i < program.size(); ++i) {
    if (program.is_derived(i)) result.add(program.node_bytes(i), Message() << "made once per window: " << name(i).view());
    const int life = program.plan.lifetime_of[i];
    if (life >= 0 && std::find(program.plan.lifetime_of, program.plan.lifetime_of + i, life) == program.plan.lifetime_of + i)
      result.add(program.plan.lifetimes[life].bytes(layout.micro_batch()), name(i));
  }
  if (gather)
    for (int i = 0; i < static_cast<int>(program.inputs.size()); ++i)
      result.add(layout.input_bytes(program.inputs[static_cast<std::size_t>(i)]) * of.places, Message() << "input " << i);
  return result;
}

}  // namespace gradual::detail
