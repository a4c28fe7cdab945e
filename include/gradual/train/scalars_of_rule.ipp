#pragma once
#include <gradual/train/scalars_of_rule.hpp>

#include <iterator>
#include <utility>

#include <gradual/core/config.hpp>
#include <gradual/optim/scalars_of.hpp>
#include <gradual/optim/trace_update.hpp>
#include <gradual/optim/update_by_element.hpp>

namespace gradual::detail {

GRADUAL_ONCE std::vector<Scalar> scalars_of_any_rule(const SessionTables& tables, const AnyRule& rule, DType sums, DType real) {
  Tape recorded = trace_any_update(rule, tables.parameters, sums, real);
  if (tables.updates_by_element) recorded = with_elements_as_samples(std::move(recorded));
  std::vector<Scalar> scalars = scalars_of(tables.update(), recorded);
  if (std::ssize(scalars) > tables.max_scalars) refuse_rule();
  return scalars;
}

}  // namespace gradual::detail
