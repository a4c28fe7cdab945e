#pragma once
#include <cstdint>

#include <gradual/autodiff/program_tables.hpp>

namespace gradual::detail {

/// Of what a program computes.
constexpr std::uint64_t signature_of(const ProgramTables& program) {
  std::uint64_t hash = 1;
  for (const Node& node : program.nodes)
    for (const std::uint64_t word :
         {node.op->id, static_cast<std::uint64_t>(node.in[0]), static_cast<std::uint64_t>(node.in[1]),
          static_cast<std::uint64_t>(node.in[2]), static_cast<std::uint64_t>(node.shape.unit())})
      hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
  return hash;
}

/// Errors: NumericsError where `program` is not the one that was compiled.
[[gnu::cold]] void check_signature(const ProgramTables& program, std::uint64_t compiled);

/// Whether the tables of P are those that this source compiled: of two models with one name a process keeps those of one, also
/// where they are plug-ins'. Errors: NumericsError.
template <class P>
[[gnu::cold]] void check_one_net() {
  constexpr std::uint64_t compiled = signature_of(P::tables);
  check_signature(P::tables, compiled);
}

}  // namespace gradual::detail

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/train/one_net.ipp>
#endif
