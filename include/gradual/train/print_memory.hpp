#pragma once
#include <algorithm>
#include <ostream>
#include <string>

#include <gradual/core/grouped.hpp>
#include <gradual/train/memory.hpp>

namespace gradual {

/// A table of bytes by category: what stays, and what comes and goes with each micro-batch.
[[gnu::cold]] inline std::ostream& operator<<(std::ostream& out, const MemoryTable& table) {
  const auto row = [&](const std::string& name, std::int64_t bytes, const char* note) {
    if (bytes == 0) return;
    const std::string number = detail::grouped(bytes);
    out << "  " << name << std::string(20 - name.size(), ' ') << std::string(14 - std::min<std::size_t>(14, number.size()), ' ')
        << number << " B" << note << '\n';
  };
  row("parameters", table.parameters, "");
  row("gradients", table.gradients, "  (shadow buffers of the window)");
  row("open blocks", table.open_blocks, "  (unfinished sums between micro-batches)");
  row("optimizer state", table.optimizer_state, "");
  row("derived", table.derived, "  (made once per window)");
  row("undo", table.undo, "  (the window's sums before a micro-batch)");
  row("noise", table.noise, "  (the window's gradient before a small batch)");
  row("inputs", table.inputs, "");
  row("activations", std::max(table.activations, table.update), "  (shared with temporaries)");
  row("workspace", table.workspace, "");
  row("total", table.total(), "");
  row("pinned", table.pinned, "  (of the host's memory, beside the total)");
  return out;
}

}  // namespace gradual
