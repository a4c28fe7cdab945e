#pragma once
// An update rule alone on a device, over consecutive arrays: parameters, gradient, states.
#include <vector>

#include <gradual/gradual.hpp>

namespace nets {

using namespace gradual;

/// The parameters of a net with a single one.
template <std::int64_t Count>
struct OneVector {
  static constexpr std::vector<ParameterInfo> list() { return {{"vector", Shape{Count}, {}}}; }
};

/// The places at which the update program of `Rule` for `Count` parameters finds its values in memory from `base` on.
template <class Rule, std::int64_t Count>
class DeviceUpdate {
 public:
  using Program = gradual::Program<gradual::detail::UpdateTrace<Rule, OneVector<Count>, float, float>>;
  static constexpr int states = gradual::detail::state_size<StateOf<Rule>>();
  static constexpr std::int64_t arena = aligned(Count * 4);
  static constexpr std::int64_t bytes = arena * (2 + states) + 256 + Program::plan.bytes(1);

  explicit DeviceUpdate(std::byte* base) : base_(base), address_(Program::nodes) {
    const auto array = [&](std::int64_t which) -> void* { return base + arena * which; };
    gradual::detail::place_arrays_of_update(Program::tables, reinterpret_cast<const float*>(scalars()), array, address_.data());
    std::vector<std::int64_t> offsets(Program::nodes + 1);
    gradual::detail::place_values_of_update(Program::tables, Count, scalars() + 256, offsets.data(), address_.data());
    arguments_.address = address_.data();
  }

  std::byte* scalars() const { return base_ + arena * (2 + states); }
  /// Returns the values of the rule's scalars in step 1, for a window of weight 1.
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
