#pragma once
#include <gradual/eager/tapped.hpp>
#include <gradual/train/interpret.hpp>
#include <gradual/train/session.hpp>

namespace gradual {

namespace detail {
template <class Net, class... Data>
Tapped interpret_taps(std::span<const typename Net::Real> parameters, const Randomness& random, const Data&... data) {
  Tape tape = Net::Training::trace();
  tape.nodes.resize(static_cast<std::size_t>(tape.first_adjoint));  // backward has nothing to show
  const auto reference = interpret<Net>("tapped", tape, parameters, random, data...);
  Tapped result;
  for (const Tap& tap : tape.taps) {
    const Node& node = tape[tap.node];
    const auto& values = reference[tap.node];
    Shape shape = node.shape;
    if (shape.batched()) shape.extent[shape.batch_axis] *= reference.batch();
    shape.batch_axis = -1;
    eager::with_type(node.dtype, [&](auto t) {
      const std::vector<decltype(t)> typed(values.begin(), values.end());
      result.add(tap.name.view(), Tensor::from(Device::cpu(), std::span(typed), shape));
    });
  }
  return result;
}
}  // namespace detail

/// The values that the model of a compiled net named by `tap`, for these samples, in the bits of the compiled net; without
/// dropout. Slow: every op of the forward pass is computed by the reference interpreter. `parameters`: all values,
/// parameter after parameter. Errors: DataError for spans that do not fit each other.
template <class Net, class... Data>
Tapped tapped(std::span<const typename Net::Real> parameters, const Data&... data) {
  return detail::interpret_taps<Net>(parameters, {}, data...);
}

/// The same inside a session, which does not change: what `accumulate` of these samples would compute now, dropout included,
/// where the window has room for all of them. Errors: as above; OptionError between the two evaluations of a window.
template <class Net, class Optimizer, class In, class... Data>
  requires requires { typename Net::Training; }
Tapped tapped(const Session<Net, Optimizer, In>& session, const Data&... data) {
  const auto parameters = session.parameters();
  const auto step = static_cast<std::uint64_t>(session.step_count());
  const Randomness random{
      .on = true, .seed = session.options().seed, .round = step, .begin = session.position(), .step = step};
  return detail::interpret_taps<Net>(parameters.values(), random, data...);
}

}  // namespace gradual
