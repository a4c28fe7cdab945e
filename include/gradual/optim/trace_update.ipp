#pragma once
#include <gradual/optim/trace_update.hpp>

#include <gradual/core/config.hpp>

namespace gradual::detail {

GRADUAL_ONCE Tape recorded_update(const AnyRule& rule, std::span<const ParameterInfo> parameters, DType sums, DType real) {
  return trace_any_update(rule, parameters, sums, real);
}

}  // namespace gradual::detail
