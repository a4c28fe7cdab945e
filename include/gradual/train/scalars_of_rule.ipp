#pragma once
#include <gradual/train/scalars_of_rule.hpp>

#include <iterator>
#include <utility>

#include <gradual/core/config.hpp>
#include <gradual/optim/scalars_of.hpp>
#include <gradual/optim/trace_update.hpp>

namespace gradual::detail {

GRADUAL_ONCE std::vector<Scalar> scalars_of_any_rule(const SessionTables& tables, const AnyRule& rule, DType sums, DType real) {
  const Tape recorded = trace_any_update(rule, tables.parameters, sums, real);
  auto scalars = tables.updates_by_element ? find_scalars_by_element(tables.update(), recorded)
                                           : find_scalars(tables.update(), recorded);
  if (!scalars || std::ssize(*scalars) > tables.max_scalars) refuse_rule();
  return std::move(*scalars);
}

}  // namespace gradual::detail
