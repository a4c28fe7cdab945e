#pragma once
#include <vector>

#include <gradual/optim/any_rule.hpp>
#include <gradual/optim/parameter_names.hpp>
#include <gradual/train/session_tables.hpp>

namespace gradual::detail {

/// Returns the scalars that a session's update program reads of `rule`. `sums`, `real`: as in `trace_update`.
/// Errors: OptionError for a rule whose numbers would make it another program (`scalars_of`).
std::vector<Scalar> scalars_of_any_rule(const SessionTables& tables, const AnyRule& rule, DType sums, DType real);

/// The same. Errors: OptionError also for a name that no parameter has.
template <class Sum, class Real, class Rule>
std::vector<Scalar> scalars_of_rule(const SessionTables& tables, const Rule& rule) {
  check_names(rule, tables.parameters);
  return scalars_of_any_rule(tables, TypedRule<Rule>(rule), dtype_of<Sum>, dtype_of<Real>);
}

}  // namespace gradual::detail

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/train/scalars_of_rule.ipp>
#endif
