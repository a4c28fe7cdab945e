#pragma once
#include <gradual/autodiff/ops/labels.hpp>
#include <gradual/autodiff/ops/with_index.hpp>

namespace gradual {

/// Returns scores[label], one value for each row, such as the value of the action that was taken. scores: [batch, ...,
/// classes], label: int32 [batch, ...], an input or an argmax. Errors: those of `cross_entropy`.
constexpr Var pick(Var scores, Var label) {
  if (!detail::given("pick", {scores, label}) || !detail::fits_labels("pick", scores, label, LabelRange::none)) return {};
  return detail::at_index(scores, label, -1).value;
}

}  // namespace gradual
