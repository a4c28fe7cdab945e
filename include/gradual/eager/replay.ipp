#pragma once
#include <gradual/eager/replay.hpp>

#include <utility>

namespace gradual::eager {

GRADUAL_ONCE Replay::Replay(Tape tape, std::unique_ptr<Executor> executor)
    : tape_(std::move(tape)), executor_(std::move(executor)), last_use_(tape_.nodes.size()) {
  for (int i = 0; i < tape_.size(); ++i) {
    last_use_[static_cast<std::size_t>(i)] = i;
    for (int k = 0; k < tape_[i].op->arity; ++k) use(tape_[i].in[k], i);
  }
  for (const Root& root : tape_.roots) use(root.node, tape_.size());
  executor_->expect(tape_.size());
}

GRADUAL_ONCE void Replay::run() {
  release();
  for (int i = 0; i < tape_.size(); ++i) {
    executor_->run(tape_, i);
    for (int k = 0; k < tape_[i].op->arity; ++k) release_after(tape_[i].in[k], i);
  }
}

GRADUAL_ONCE void Replay::release() {
  for (int i = 0; i < tape_.size(); ++i) executor_->release(i);
}

GRADUAL_ONCE void Replay::use(int id, int by) {
  int& last = last_use_[static_cast<std::size_t>(id)];
  if (by > last) last = by;
  if (reads_another(id)) use(tape_[id].in[0], by);
}

GRADUAL_ONCE void Replay::release_after(int id, int user) {
  if (last_use_[static_cast<std::size_t>(id)] == user) executor_->release(id);
  if (reads_another(id)) release_after(tape_[id].in[0], user);
}

}  // namespace gradual::eager
