#pragma once
// An update rule alone on a device, over arrays that lie one after another: parameters, gradient, states.
#include <cstring>

#include <gradual/gradual.hpp>

namespace nets {

using namespace gradual;

/// The parameters of a net that has one.
template <std::int64_t Count>
struct OneVector {
  static constexpr std::vector<ParameterInfo> list() { return {{"vector", Shape{Count}, {}}}; }
};

/// Where the update program of `Rule` for `Count` parameters finds its values in memory from `base` on.
template <class Rule, std::int64_t Count>
class DeviceUpdate {
 public:
  using Program = gradual::Program<gradual::detail::UpdateTrace<Rule, OneVector<Count>, float, float>>;
  static constexpr int states = gradual::detail::state_size<StateOf<Rule>>();
  static constexpr std::int64_t arena = aligned(Count * 4);
  static constexpr std::int64_t bytes = arena * (2 + states) + 256 + Program::plan.bytes(1);

  explicit DeviceUpdate(std::byte* base) : base_(base), address_(Program::nodes) {
    std::vector<std::int64_t> offset(Program::nodes + 1);
    Program::plan.offsets(1, offset.data());
    for (int i = 0; i < Program::nodes; ++i) {
      const Node& node = Program::graph.nodes[i];
      auto& address = address_[static_cast<std::size_t>(i)];
      if (const int life = Program::plan.lifetime_of[i]; life >= 0)
        address = scalars() + 256 + offset[static_cast<std::size_t>(life)];
      if (node.op->kind != Kind::input) continue;
      const std::int64_t which = node.attributes.integer[0];
      address = node.attributes.integer[1] == Input::scalar ? scalars() + 4 * which : base + arena * which;
    }
    for (int r = 0; r < Program::graph.counts.roots; ++r) {
      const Root& root = Program::graph.roots[r];
      address_[static_cast<std::size_t>(Program::schedule.storage[root.node])] = base + arena * root.index;
    }
    arguments_.address = address_.data();
  }

  std::byte* scalars() const { return base_ + arena * (2 + states); }
  /// The values of the rule's scalars in step 1, for a window of weight 1.
  static std::vector<float> scalar_values(const Rule& rule) {
    std::vector<float> values = {1, 1};
    const std::vector<Scalar> scalars = scalars_of(Program::tables, trace_update(rule, Count));
    for (std::size_t s = rule_scalars; s < scalars.size(); ++s) values.push_back(static_cast<float>(scalars[s].at(0)));
    return values;
  }
  const StepArguments& arguments() const { return arguments_; }

 private:
  std::byte* base_;
  std::vector<void*> address_;
  StepArguments arguments_;
};

}  // namespace nets
