#pragma once
#include <iterator>
#include <span>

#include <gradual/train/memory.hpp>

namespace gradual::detail {

/// A row in the table of a session's memory.
struct MemoryCategory {
  const char *name, *note;
  std::int64_t (*bytes)(const MemoryTable&);
};
inline constexpr MemoryCategory memory_categories[] = {
    {"parameters", "", [](const MemoryTable& t) { return t.parameters; }},
    {"gradients", "shadow buffers of the window", [](const MemoryTable& t) { return t.gradients; }},
    {"open blocks", "unfinished sums between micro-batches", [](const MemoryTable& t) { return t.open_blocks; }},
    {"optimizer state", "", [](const MemoryTable& t) { return t.optimizer_state; }},
    {"derived", "made once per window", [](const MemoryTable& t) { return t.derived; }},
    {"undo", "the window's sums before a micro-batch", [](const MemoryTable& t) { return t.undo; }},
    {"noise", "the window's gradient before a small batch", [](const MemoryTable& t) { return t.noise; }},
    {"inputs", "", [](const MemoryTable& t) { return t.inputs; }},
    {"activations", "shared with temporaries", [](const MemoryTable& t) { return t.transient() - t.inputs - t.workspace; }},
    {"workspace", "", [](const MemoryTable& t) { return t.workspace; }},
    {"total", "", [](const MemoryTable& t) { return t.total(); }},
    {"pinned", "of the host's memory, beside the total", [](const MemoryTable& t) { return t.pinned; }}};
/// The categories that sum to the total.
inline constexpr std::span<const MemoryCategory> summed_categories(memory_categories, std::size(memory_categories) - 2);

}  // namespace gradual::detail
