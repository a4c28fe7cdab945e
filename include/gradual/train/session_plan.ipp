#pragma once
#include <gradual/train/session_plan.hpp>

#include <algorithm>

#include <gradual/train/memory_error.hpp>

namespace gradual::detail {

GRADUAL_ONCE SessionPlan::SessionPlan(const SessionTables& tables, const SessionOptions& options, bool counts_calls,
                                      std::int64_t frozen)
    : window_(counts_calls ? 0 : options.global_batch),
      most_(options.micro_batch > 0 ? options.micro_batch : options.global_batch),
      shrinks_(options.micro_batch == 0),
      gather_(options.gather),
      frozen_(frozen),
      prefer_(options.prefer),
      layout_(first_layout(tables, options)) {
  set_micro_batch(layout_.micro_batch());
}

GRADUAL_ONCE std::int64_t SessionPlan::pick(Budget budget) const {
  const std::int64_t found = fitting(budget);
  if (found == 0) {
    const std::int64_t least = layout_.choice().open_blocks ? 1 : std::min(most_, layout_.tables().block_samples);
    refuse(layout_.with_micro_batch(least), budget);
  }
  return found;
}

GRADUAL_ONCE std::int64_t SessionPlan::smaller() const {
  const std::int64_t found = shrinks_ ? fitting(table_.persistent() + table_.transient() / 2) : 0;
  return found < micro_batch() ? found : 0;
}

GRADUAL_ONCE void SessionPlan::set_micro_batch(std::int64_t micro_batch) {
  layout_ = layout_.with_micro_batch(micro_batch);
  table_ = layout_.table(gather_, frozen_);
}

GRADUAL_ONCE SessionLayout SessionPlan::first_layout(const SessionTables& tables, const SessionOptions& options) const {
  const auto layout = [&](std::int64_t b) {
    return SessionLayout(tables, b, window_, options.open_blocks, options.threads, extras(options));
  };
  const Budget budget = options.memory_budget;
  if (!shrinks_)
    if (const SessionLayout given = layout(most_); total(given) <= budget.bytes) return given;
  const std::int64_t found = fitting(tables, budget, [&](std::int64_t b) { return total(layout(b)); });
  const SessionLayout largest = layout(std::max(found, std::int64_t{1}));
  if (shrinks_ && found > 0) return largest;
  const SessionLayout refused = shrinks_ ? largest : layout(most_);
  if (found > 0) refuse_budget(refused, gather_, frozen_, budget, &largest);
  refuse(refused, budget);
}

GRADUAL_ONCE void SessionPlan::refuse(const SessionLayout& least, Budget budget) const {
  const LayoutChoice& choice = least.choice();
  const OpenBlocks other = choice.open_blocks ? OpenBlocks::as_needed : OpenBlocks::always;
  const auto layout = [&](std::int64_t b) {
    return SessionLayout(least.tables(), b, window_, other, choice.threads, choice.extras);
  };
  const bool any = other == OpenBlocks::always || window_ > 0;  // else the ends of windows are unknown
  const std::int64_t found =
      any ? fitting(least.tables(), budget, [&](std::int64_t b) { return total(layout(b)); }) : 0;
  const SessionLayout otherwise = layout(std::max(found, std::int64_t{1}));
  refuse_budget(least, gather_, frozen_, budget, nullptr, found > 0 ? &otherwise : nullptr);
}

GRADUAL_ONCE bool SessionPlan::allowed(std::int64_t micro_batch) const {
  return layout_.choice().open_blocks || micro_batch % layout_.tables().block_samples == 0 || micro_batch == window_;
}

GRADUAL_ONCE std::int64_t SessionPlan::fitting(Budget budget) const {
  const Budget most = std::min(budget.bytes, Budget::unlimited - 1);  // sizes that are not allowed need more than any budget
  return fitting(layout_.tables(), most, [&](std::int64_t b) {
    return allowed(b) ? total(layout_.with_micro_batch(b)) : Budget::unlimited;
  });
}

GRADUAL_ONCE std::int64_t SessionPlan::fitting(const SessionTables& tables, Budget budget,
                                               const std::function<std::int64_t(std::int64_t)>& need) const {
  const std::int64_t whole = prefer_ == Prefer::divisor && window_ > 0 ? window_ : most_;  // which is to be divided
  const std::int64_t countable = std::min(most_, tables.countable);
  return pick_micro_batch(whole, tables.block_samples, budget.bytes, prefer_, [&](std::int64_t b) {
    return b > countable ? Budget::unlimited : need(b);
  });
}

}  // namespace gradual::detail
