#pragma once
#include <optional>
#include <vector>

#include <gradual/autodiff/program_tables.hpp>
#include <gradual/autodiff/scalar.hpp>

namespace gradual {

namespace detail {
[[noreturn, gnu::cold]] void refuse_rule();
}  // namespace detail

/// Returns the numbers of a rule in the places where the program of its type, recorded by the compiler, reads them. The order
/// in which the operands of an expression are recorded is up to the compiler, and may differ at run time: numbers are matched
/// by their use. `recorded`: the rule with its numbers. Returns nothing if that is another program.
std::optional<std::vector<Scalar>> find_scalars(const ProgramTables& program, const Tape& recorded);

/// The same, for a program by element (`UpdatesByElement`). `recorded`: the rule over rows, as for others.
std::optional<std::vector<Scalar>> find_scalars_by_element(const ProgramTables& program, const Tape& recorded);

/// Returns the first. Errors: OptionError if it is another program.
std::vector<Scalar> scalars_of(const ProgramTables& program, const Tape& recorded);

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/optim/scalars_of.ipp>
#endif
