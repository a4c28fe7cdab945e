#pragma once
#include <gradual/train/print_memory.hpp>

#include <cstdio>
#include <ostream>

#include <gradual/core/config.hpp>
#include <gradual/core/number_text.hpp>
#include <gradual/train/memory_categories.hpp>

namespace gradual {

GRADUAL_ONCE std::ostream& operator<<(std::ostream& out, const MemoryTable& table) {
  for (const detail::MemoryCategory& category : detail::memory_categories) {
    const std::int64_t bytes = category.bytes(table);
    if (bytes == 0) continue;
    char row[64];
    std::snprintf(row, sizeof(row), "  %-20s%14s B", category.name, detail::grouped(bytes).c_str());
    out << row;
    if (*category.note != 0) out << "  (" << category.note << ')';
    out << '\n';
  }
  return out;
}

}  // namespace gradual
