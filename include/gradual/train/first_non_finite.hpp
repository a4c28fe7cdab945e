#pragma once
#include <string>

#include <gradual/core/number_text.hpp>
#include <gradual/core/math/all_finite.hpp>
#include <gradual/train/interpret.hpp>
#include <gradual/train/largest_buffers.hpp>

namespace gradual {

/// Returns where the first value that is infinite or NaN arises in a training step of these samples: the op, its layer, the
/// element and the op's operands; empty where all are finite. Slow: the reference interpreter computes every op, without
/// dropout. `parameters`: all values, one parameter after another.
/// Errors: DataError for spans that do not fit each other, labels outside the classes, values that are already not finite, or
/// another number of parameters.
template <class Net, class... Span>
std::string first_non_finite(std::span<const typename Net::Real> parameters, const Span&... data) {
  const Tape tape = thaw(Net::Training::graph);
  const auto reference = detail::interpret<Net>("first_non_finite", tape, parameters, {}, data...);
  for (int i = 0; i < tape.size(); ++i) {
    const Node& node = tape[i];
    if (node.op->kind == Kind::constant) continue;
    for (std::size_t e = 0; e < reference[i].size(); ++e) {
      if (math::is_finite(reference[i][e])) continue;
      std::string text = detail::name_of(node, i >= tape.first_adjoint, tape.parameters.data()).string();
      text += ": element " + std::to_string(e) + " is " + detail::brief_text(reference[i][e]);
      for (int k = 0; k < node.op->arity && reference[node.in[k]].size() == reference[i].size(); ++k)
        text += (k == 0 ? ", of " : " and ") + detail::brief_text(reference[node.in[k]][e]);
      return text;
    }
  }
  return {};
}

}  // namespace gradual
