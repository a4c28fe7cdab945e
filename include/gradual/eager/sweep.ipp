#pragma once
#include <gradual/eager/sweep.hpp>

#include <algorithm>

namespace gradual::eager {

GRADUAL_ONCE Executor::Sweep::Sweep(Executor& executor, const Tape& tape, std::span<const int> ids)
    : executor_(executor), tape_(tape), ids_(ids), batch_(executor.batch_) {
  std::int64_t widest = 1;
  for (std::size_t i = ids_.size(); i-- > 0;) {
    const Node& node = tape_[ids_[i]];
    Value& value = at(ids_[i]);
    value.noted = false;
    value.kept = value.kept || value.outer_uses > 0;
    if (computes(node)) widest = std::max(widest, node.shape.unit());
    for (int k = 0; k < node.op->arity; ++k) {
      Value& operand = at(node.in[k]);
      --operand.outer_uses;
      operand.kept = operand.kept || (value.kept && !computes(node));
    }
  }
  together_ = std::clamp<std::int64_t>(executor_.sweep_elements_ / widest, 1, std::max<std::int64_t>(batch_, 1));
}

GRADUAL_ONCE Executor::Sweep::~Sweep() {
  stop();
  for (const int id : ids_)
    if (!finished_ || !at(id).kept) {
      executor_.release(id);
      at(id).noted = true;
    }
}

GRADUAL_ONCE void Executor::Sweep::run() {
  take_memory();
  executor_.sweeping_ = true;
  run_samples(0);
  for (std::int64_t begin = together_; begin < batch_; begin += together_) run_samples(begin);
  stop();
  for (const int id : ids_) {
    Value& value = at(id);
    if (is_view(tape_[id].op->kind)) executor_.release(id);
    else if (value.kept && computes(tape_[id])) value.data = value.storage.data();
    else if (value.kept) executor_.run(tape_, id);
  }
  finished_ = true;
}

GRADUAL_ONCE const void* Executor::Sweep::sample(int id, const void* data, std::int64_t which) const {
  return static_cast<const std::byte*>(data) + which * bytes_of(tape_[id].shape, 1, tape_[id].dtype);
}

GRADUAL_ONCE void Executor::Sweep::take_memory() {
  for (const int id : ids_)
    for (int k = 0; k < tape_[id].op->arity && together_ < batch_; ++k)
      if (const int in = tape_[id].in[k]; at(in).data != nullptr && tape_[in].shape.batched())
        executor_.outside_.emplace_back(in, at(in).data);
  for (const int id : ids_) {
    const Node& node = tape_[id];
    if (!computes(node)) continue;
    Value& value = at(id);
    value.storage = executor_.device_.allocate(bytes_of(node.shape, value.kept ? batch_ : together_, node.dtype));
    value.data = value.storage.data();
  }
}

GRADUAL_ONCE void Executor::Sweep::run_samples(std::int64_t begin) {
  executor_.batch_ = std::min(together_, batch_ - begin);
  for (const auto& [id, data] : executor_.outside_) at(id).data = sample(id, data, begin);
  for (const int id : ids_) {
    if (is_view(tape_[id].op->kind)) {
      if (begin > 0 && at(id).data != nullptr) executor_.release(id);
      continue;
    }
    if (begin > 0 && at(id).kept && computes(tape_[id])) at(id).data = sample(id, at(id).storage.data(), begin);
    executor_.run(tape_, id);
  }
}

GRADUAL_ONCE void Executor::Sweep::stop() {
  executor_.sweeping_ = false;
  executor_.batch_ = batch_;
  for (const auto& [id, data] : executor_.outside_) at(id).data = data;
  executor_.outside_.clear();
  for (const int id : executor_.swept_views_) executor_.release(id);
  executor_.swept_views_.clear();
}

GRADUAL_ONCE void Executor::settle(const Tape& tape, int id) {
  if (!values_[id].noted) return;
  if (!unchecked_.empty()) check_unchecked(tape);
  needed_.reserve(static_cast<std::size_t>(values_.size()));
  needed_.clear();
  const auto need = [&](int node) {
    Value& value = values_[node];
    value.needed = true;
    value.kept = node == id;
    value.outer_uses = readers_.counted() ? readers_.of(node) : value.uses;
    needed_.push_back(node);
  };
  need(id);
  for (std::size_t next = 0; next < needed_.size(); ++next) {  // not over the tape: views reach far back
    const Node& node = tape[needed_[next]];
    for (int k = 0; k < node.op->arity; ++k) {
      const int operand = node.in[k];
      const Value& value = values_[operand];
      if (!value.needed && (value.noted || (value.data == nullptr && is_view(tape[operand].op->kind)))) need(operand);
    }
  }
  for (const Root& root : tape.roots) values_[root.node].kept = true;
  for (const int node : needed_) values_[node].needed = false;
  std::ranges::sort(needed_);
  joins_.find(tape, values_, needed_);
  std::size_t first = 0;
  const auto sweep = [&](std::size_t end) {
    const std::span<const int> ids = std::span(needed_).subspan(first, end - first);
    if (first < end) Sweep(*this, tape, ids).run();
    for (const int node : ids)
      if (!is_view(tape[node].op->kind)) has_read_operands(tape, node);
    first = end + 1;
  };
  for (std::size_t i = 0; i < needed_.size(); ++i) {
    const int node = needed_[i];
    const Join join = joins_.of(node);
    const bool joins = !join.pieces.empty();
    if (!joins && (is_view(tape[node].op->kind) || by_sample(tape, tape[node], needed_[first]))) continue;
    sweep(i);
    if (joins) compute_join(tape, node, join);
    else run(tape, node);
    values_[node].noted = false;
    if (!joins) has_read_operands(tape, node);
    for (const JoinPiece& piece : join.pieces) has_been_read(tape, piece.node);
  }
  sweep(needed_.size());
}

}  // namespace gradual::eager
