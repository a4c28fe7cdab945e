#pragma once
#include <gradual/eager/tapped.hpp>
#include <gradual/train/interpret.hpp>
#include <gradual/train/session.hpp>

namespace gradual {

namespace detail {
template <class Net, class... Data>
Tapped interpret_taps(std::span<const typename Net::Real> parameters, const Randomness& random, const Data&... data) {
  Tape tape = Net::Training::trace();
  tape.nodes.resize(static_cast<std::size_t>(tape.first_adjoint));  // the backward pass has no taps
  const auto reference = interpret<Net>("tapped", tape, parameters, random, data...);
  Tapped result;
  for (const Tap& tap : tape.taps) {
    const Node& node = tape[tap.node];
    const auto& values = reference[tap.node];
    Shape shape = node.shape;
    if (shape.batched()) shape.extent[shape.batch_axis] *= reference.batch();
    shape.batch_axis = -1;
    with_type(node.dtype, [&](auto t) {
      const std::vector<decltype(t)> typed(values.begin(), values.end());
      result.add(tap.name.view(), Tensor::from(Device::cpu(), std::span(typed), shape));
    });
  }
  return result;
}
}  // namespace detail

/// Returns the values that a compiled net's model named by `tap`, for these samples, in the bits of the compiled net; without
/// dropout. Slow: the reference interpreter computes every op of the forward pass. `parameters`: all values, one parameter
/// after another. Errors: DataError for spans that do not fit each other, labels outside the classes, values that are not
/// finite, or another number of parameters.
template <class Net, class... Data>
Tapped tapped(std::span<const typename Net::Real> parameters, const Data&... data) {
  return detail::interpret_taps<Net>(parameters, {}, data...);
}

/// Does the same inside a session, which it does not change: returns what `accumulate` would compute now for these samples,
/// with dropout, where the window has room for all. Errors: as above; OptionError between a window's two evaluations.
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
