#pragma once
#include <gradual/eager/window_values.hpp>

#include <string>

#include <gradual/autodiff/ops/input.hpp>

namespace gradual::eager {

GRADUAL_ONCE bool is_weight(const Tape& tape, int id) {
  return tape.first_adjoint >= 0 && id >= tape.first_adjoint && is_input(tape[id], Input::scalar);
}

GRADUAL_ONCE void WindowValues::reset(bool deferring) {
  of_.clear();
  ids_.clear();
  deferring_ = deferring;
}

GRADUAL_ONCE bool WindowValues::add(const Tape& tape, int id) {
  of_.resize(index(id) + 1);
  if (!tape[id].shape.batched()) {
    of_.back().ordinal = static_cast<int>(ids_.size());
    ids_.push_back(id);
  }
  if (!deferring_) return false;
  if (depends_on_end(tape, id) && tape[id].shape.batched())
    throw ShapeError(std::string(tape[id].op->name) +
                     ": a sample's value depends on the gradient of the batch, which couples samples");
  return defer(tape, id);
}

GRADUAL_ONCE void WindowValues::remove(int id) {
  if (of_.size() > index(id)) of_.resize(index(id));
  if (!ids_.empty() && ids_.back() == id) ids_.pop_back();
}

GRADUAL_ONCE void WindowValues::forget_unwanted(const Tape& tape) {
  for (const int id : ids_) of_[index(id)].wanted = false;
  for (const Root& root : tape.roots) of_[index(root.node)].wanted = !tape[root.node].shape.batched();
  for (auto id = ids_.rbegin(); id != ids_.rend(); ++id)
    for (int k = 0; k < tape[*id].op->arity && of_[index(*id)].wanted; ++k)
      of_[index(tape[*id].in[k])].wanted = !tape[tape[*id].in[k]].shape.batched();
  std::erase_if(ids_, [&](int id) { return waits(id) && !of_[index(id)].wanted; });
  int ordinal = 0;
  for (const int id : ids_) of_[index(id)].ordinal = ordinal++;
}

GRADUAL_ONCE bool WindowValues::depends_on_end(const Tape& tape, int id) const {
  bool waits = is_sample_sum(tape[id].op->kind) || is_weight(tape, id);
  for (int k = 0; k < tape[id].op->arity; ++k) waits = waits || of_[index(tape[id].in[k])].waits;
  return waits;
}

}  // namespace gradual::eager
