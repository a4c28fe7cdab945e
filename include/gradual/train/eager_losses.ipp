#pragma once
#include <gradual/train/eager_losses.hpp>

#include <string>
#include <vector>

#include <gradual/autodiff/trace.hpp>
#include <gradual/autodiff/with_type.hpp>
#include <gradual/train/validate.hpp>

namespace gradual::detail {

GRADUAL_ONCE void record_loss_of(EagerTape& tape, const Loss& loss) { record_loss(tape, loss); }
GRADUAL_ONCE void record_gradients_of(EagerTape& tape, const Loss& loss, BackwardSpace& space, Var scale,
                                      std::span<const int> without) {
  record_gradients(tape, loss, space, scale, without);
}

template <class Real>
EagerLosses<Real> losses_of(EagerTape& tape) {
  EagerLosses<Real> losses;
  for (const Root& root : tape.roots) {
    losses.metrics.count += root.role == Role::metric;
    if (root.role == Role::metric_weight) losses.metrics.own |= 1u << root.index;
  }
  for (const Root& root : tape.roots) {
    if (root.role == Role::gradient) continue;
    const auto* values = static_cast<const Real*>(tape.values().on_host(tape, root.node));
    if (root.role == Role::weight) losses.weight = values;
    else if (root.role == Role::metric_weight) losses.values[losses.metrics.weight_of(root.index)] = values;
    else losses.values[root.role == Role::loss ? 0 : root.index + 1] = values;
    losses.count = tape[root.node].shape.elements(tape.batch());
  }
  return losses;
}

template <class Real>
Averages with_losses(const Averages& before, const EagerLosses<Real>& losses, bool first) {
  Averages sums = first ? Averages(losses.metrics) : before;
  if (sums.metrics() != losses.metrics)
    throw ShapeError("a loss with " + std::to_string(losses.metrics.count) + " metrics; earlier parts had " +
                     std::to_string(sums.metrics().count) +
                     (sums.metrics().count == losses.metrics.count ? ", but others of them had weights of their own" : ""));
  sums.add(losses.values, losses.weight, losses.count);
  return sums;
}

GRADUAL_ONCE void validate(EagerTape& tape, std::int64_t before, std::span<const std::int32_t> rows) {
  for (int i = 0; i < static_cast<int>(tape.inputs.size()); ++i) {
    const InputInfo& info = tape.inputs[static_cast<std::size_t>(i)];
    if (!info.shape.batched() || info.shape.unit() == 0) continue;
    with_type(info.dtype, [&](auto t) {
      using T = decltype(t);
      const std::int64_t width = info.shape.unit(), batch = tape.batch();
      const T* const values = static_cast<const T*>(tape.values().input(i));
      const auto check = [&](std::int64_t first, std::int64_t count, std::int64_t place) {
        validate_values(std::span(values + first * width, static_cast<std::size_t>(count * width)), tape.label_ranges, width, i,
                        place);
      };
      if (rows.empty()) check(0, batch, before);
      else for (std::int64_t s = 0; s < batch; ++s) check(s, 1, rows[static_cast<std::size_t>(s)]);
    });
  }
  tape.values().accept_labels();
}

GRADUAL_ONCE void check_no_sums(const Tape& tape, const std::string& what) {
  const std::vector<char> wanted = wanted_nodes(tape);
  for (int i = 0; i < tape.size(); ++i)
    if (wanted[static_cast<std::size_t>(i)] != 0 && is_sample_sum(tape[i].op->kind))
      throw ShapeError(what + " contains a gradient over the batch depends on how the batch is cut");
}

}  // namespace gradual::detail
