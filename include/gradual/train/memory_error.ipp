#pragma once
#include <gradual/train/memory_error.hpp>

#include <gradual/core/error.hpp>
#include <gradual/core/system_memory.hpp>
#include <gradual/train/largest_buffers.hpp>
#include <gradual/train/memory_categories.hpp>

namespace gradual::detail {

/// Explains why a plan does not fit a budget: the bytes needed and given, the largest micro-batch that would fit (that of
/// `fitting`, or of `otherwise`), the bytes of all buffers by category, since unrolled nets have many small ones, the five
/// largest by layer name, and what each remedy would save.
inline MemoryMessage explain_memory(const SessionLayout& layout, bool gather, std::int64_t frozen,
                                    Budget budget, const SessionLayout* fitting,
                                    const SessionLayout* otherwise) {
  const MemoryTable table = layout.table(gather, frozen);
  const SessionTables& tables = layout.tables();
  MemoryMessage text;
  text << "training needs " << table.total() << " B for " << layout.micro_batch()
       << (layout.micro_batch() == 1 ? " sample" : " samples") << " at a time, the budget is " << budget.bytes
       << " B; ";
  if (fitting != nullptr)
    text << "micro-batches of " << fitting->micro_batch() << " would fit";
  else
    text << "no smaller micro-batch fits";
  if (otherwise != nullptr)
    text << ", but with OpenBlocks::" << (otherwise->choice().open_blocks ? "always" : "as_needed") << " those of "
         << otherwise->micro_batch() << " do, in " << otherwise->table(gather, frozen).total() << " B";
  if (const SystemMemory system = system_memory(); system.capacity > 0)
    text << "; this machine has " << system.capacity << " B, of which others hold " << system.others << " and "
         << system.free << " are free";
  text << "\nneeded";
  const char* between = ": ";
  for (const MemoryCategory& category : summed_categories) {
    if (category.bytes(table) == 0) continue;
    text << between << category.name << " " << category.bytes(table) << " B";
    between = ", ";
  }
  text << "\nlargest buffers:";
  LargestBuffers largest = largest_buffers(layout, gather);
  largest.add(table.workspace, Message() << "workspace of kernels");
  largest.add(table.update, Message() << "temporaries of the update");
  largest.print(text);
  text << "\nwhat would help:";
  const auto remedy = [&](std::int64_t saved) -> MemoryMessage& {
    return text << "\n  " << saved << " B less: ";
  };
  if (fitting != nullptr)
    remedy(table.total() - fitting->table(gather, frozen).total()) << "micro-batches of " << fitting->micro_batch();
  std::int64_t open = 0;  // that parts which end where blocks end would not need
  for (const SampleSum& sum : tables.sums)
    if (layout.needs_open(sum) && !sum.is_reduced) open += tables.open_bytes(sum);
  if (open > 0 && layout.micro_batch() % tables.block_samples == 0)
    remedy(open) << "micro-batches of whole blocks of " << tables.block_samples << " samples, by OpenBlocks::as_needed";
  if (table.optimizer_state == table.parameters * tables.states && tables.states > 0)
    remedy(table.optimizer_state) << "an optimizer without state (" << tables.states << " of " << table.parameters
                                  << " B each)";
  else if (table.optimizer_state > 0)
    remedy(table.optimizer_state) << "an optimizer without state";
  if (const std::int64_t narrow = tables.bytes_of_sums(tables.real_bytes); table.gradients > narrow)
    remedy(table.gradients - narrow) << "sums in float";
  if (table.undo > 0) remedy(table.undo) << "windows that are dropped whole, by NonFinite::drop_window";
  if (table.noise > 0) remedy(table.noise) << "windows whose noise is not measured";
  if (const int threads = layout.choice().threads; threads > 1)
    remedy(table.workspace / threads * (threads - 1)) << "one thread";
  if (table.inputs > 0) remedy(table.inputs) << "samples read where they lie, by a session's accumulate";
  return text;
}

GRADUAL_ONCE void refuse_budget(const SessionLayout& layout, bool gather, std::int64_t frozen, Budget budget,
                                const SessionLayout* fitting, const SessionLayout* otherwise) {
  throw MemoryError(explain_memory(layout, gather, frozen, budget, fitting, otherwise).view());
}

}  // namespace gradual::detail
