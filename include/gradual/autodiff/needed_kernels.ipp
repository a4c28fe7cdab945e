#pragma once
#include <gradual/autodiff/needed_kernels.hpp>

#include <algorithm>
#include <utility>
#include <vector>

#include <gradual/core/config.hpp>

namespace gradual::detail {

GRADUAL_ONCE NeededKernels::NeededKernels(const ProgramTables& program, std::span<const int> without_gradient) {
  if (without_gradient.empty()) return;
  const auto nodes = program.nodes.size();
  groups_ = std::make_unique<bool[]>(static_cast<std::size_t>(program.group_count));
  asked_ = std::make_unique<bool[]>(nodes);
  const auto computed = std::make_unique<bool[]>(nodes);
  std::vector<int> open;
  for (const Root& root : program.roots)
    if (root.role != Role::gradient || std::ranges::find(without_gradient, root.index) == without_gradient.end())
      open.push_back(root.node);
  const auto follow = [&](bool* seen, auto visit) {
    while (!open.empty()) {
      const int node = open.back();
      open.pop_back();
      if (node < 0 || std::exchange(seen[node], true)) continue;
      open.insert(open.end(), program.node(node).in, program.node(node).in + program.node(node).op->arity);
      visit(node);
    }
  };
  follow(asked_.get(), [](int) {});
  for (int i = 0; i < program.size(); ++i)
    if (asked_[static_cast<std::size_t>(i)]) open.push_back(i);
  follow(computed.get(), [&](int node) {
    const int group = program.group_of[node];
    if (group < 0 || std::exchange(groups_[static_cast<std::size_t>(group)], true)) return;
    for (int other = 0; other < program.size(); ++other)  // a kernel computes all of its nodes
      if (program.group_of[other] == group) open.push_back(other);
  });
}

}  // namespace gradual::detail
