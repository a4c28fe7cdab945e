#pragma once
#include <bit>
#include <cstdint>

#include <gradual/autodiff/program_tables.hpp>
#include <gradual/autodiff/value_key.hpp>

namespace gradual::detail {

/// Returns a hash of a program's computation and of its parameters' names and initial values.
constexpr std::uint64_t signature_of(const ProgramTables& program) {
  std::uint64_t hash = 0;
  const auto add = [&](auto... words) { ((hash = mix(hash, static_cast<std::uint64_t>(words))), ...); };
  for (const Node& node : program.nodes)
    add(node.op->id, node.dtype, node.in[0], node.in[1], node.in[2], node.shape.unit(), node.attributes.integer[0],
        node.attributes.integer[1], std::bit_cast<std::uint64_t>(node.attributes.number));
  for (const ParameterInfo& parameter : program.parameters)
    add(parameter.name_hash, parameter.shape.unit(), parameter.initializer.kind,
        std::bit_cast<std::uint64_t>(parameter.initializer.scale));
  return hash;
}

/// Errors: NumericsError where `program` is not the one that was compiled.
void check_signature(const ProgramTables& program, std::uint64_t compiled);

/// Checks that the tables of P are those compiled in this source: of two models with one name, a process keeps only one's, even
/// across plug-ins. Errors: NumericsError.
template <class P>
void check_one_net() {
  constexpr std::uint64_t compiled = signature_of(P::tables);
  check_signature(P::tables, compiled);
}

}  // namespace gradual::detail

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/train/one_net.ipp>
#endif
