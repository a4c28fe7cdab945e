#pragma once
#include <optional>
#include <vector>

#include <gradual/autodiff/program_tables.hpp>
#include <gradual/autodiff/scalar.hpp>

namespace gradual {

namespace detail {
[[noreturn, gnu::cold]] void refuse_rule();
}  // namespace detail

/// The numbers of a rule in the places where the program of its type, recorded by the compiler, reads them. In which order
/// the operands of an expression are recorded is the compiler's choice, and may be another at run time: numbers are paired
/// by what becomes of them. `recorded`: the rule with its numbers. Nothing where that is another program.
std::optional<std::vector<Scalar>> find_scalars(const ProgramTables& program, const Tape& recorded);

/// The same. Errors: OptionError where it is another program.
std::vector<Scalar> scalars_of(const ProgramTables& program, const Tape& recorded);

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/optim/scalars_of.ipp>
#endif
