#pragma once
#include <gradual/train/one_net.hpp>

#include <gradual/core/config.hpp>

namespace gradual::detail {

GRADUAL_ONCE void check_signature(const ProgramTables& program, std::uint64_t compiled) {
  if (signature_of(program) != compiled)
    throw NumericsError("gradual: another model of the same name is in this process, and its tables are taken for this one's: put "
                        "models in anonymous namespaces, and build plug-ins with -fvisibility=hidden");
}

}  // namespace gradual::detail
