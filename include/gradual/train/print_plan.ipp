#pragma once
#include <gradual/train/print_plan.hpp>

#include <algorithm>
#include <ostream>

#include <gradual/train/memory_categories.hpp>

namespace gradual::detail {

GRADUAL_ONCE std::string memory_columns(const std::vector<std::string>& head, const std::vector<MemoryTable>& tables) {
  const auto line = [&](const std::string& name, auto cell_of) {
    char cell[40];
    std::snprintf(cell, sizeof(cell), "%-16s", name.c_str());
    std::string text = cell;
    for (std::size_t i = 0; i < tables.size(); ++i) {
      std::snprintf(cell, sizeof(cell), " %14s", cell_of(i).c_str());
      text += cell;
    }
    return text + "\n";
  };
  std::string text = line(head[0], [&](std::size_t i) { return head[i + 1]; });
  for (const MemoryCategory& row : memory_categories)
    if (std::ranges::any_of(tables, [&](const MemoryTable& table) { return row.bytes(table) != 0; }))
      text += line(row.name, [&](std::size_t i) { return grouped(row.bytes(tables[i])); });
  return text;
}

}  // namespace gradual::detail

namespace gradual {

GRADUAL_ONCE std::ostream& operator<<(std::ostream& out, const TrainingWay& way) {
  if (!way.fits()) return out << "nothing fits";
  out << "micro-batches of " << way.micro_batch << " of " << way.global_batch << ", ";
  if (way.kept < 100) out << way.kept << "% of the activations kept, ";
  return out << detail::grouped(way.memory.total()) << " B";
}

}  // namespace gradual
