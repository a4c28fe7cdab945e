#pragma once
#include <algorithm>
#include <ostream>
#include <string>

#include <gradual/train/memory.hpp>

namespace gradual {

/// A table of bytes by category: what stays, and what comes and goes with each micro-batch.
[[gnu::cold]] inline std::ostream& operator<<(std::ostream& out, const MemoryTable& table) {
  const auto row = [&](const std::string& name, std::int64_t bytes, const char* note) {
    if (bytes == 0) return;
    std::string number = std::to_string(bytes);
    for (int at = static_cast<int>(number.size()) - 3; at > 0; at -= 3) number.insert(static_cast<std::size_t>(at), 1, ' ');
    out << "  " << name << std::string(20 - name.size(), ' ') << std::string(14 - std::min<std::size_t>(14, number.size()), ' ')
        << number << " B" << note << '\n';
  };
  row("parameters", table.parameters, "");
  row("gradients", table.gradients, "  (shadow buffers of the window)");
  row("open blocks", table.open_blocks, "  (unfinished sums between micro-batches)");
  row("optimizer state", table.optimizer_state, "");
  row("derived", table.derived, "  (made once per window)");
  row("inputs", table.inputs, "");
  row("activations", std::max(table.activations, table.update), "  (shared with temporaries)");
  row("workspace", table.workspace, "");
  row("total", table.total(), "");
  return out;
}

}  // namespace gradual
