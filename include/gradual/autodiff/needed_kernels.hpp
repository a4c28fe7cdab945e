#pragma once
#include <memory>
#include <span>

#include <gradual/autodiff/program_tables.hpp>

namespace gradual::detail {

/// What a program needs where nobody asks for the gradients of some parameters.
class NeededKernels {
 public:
  NeededKernels(const ProgramTables& program, std::span<const int> without_gradient);

  /// By kernel group; null: all of them.
  const bool* groups() const { return groups_.get(); }
  /// Whether somebody asks for a node, and not only for another one of its kernel.
  bool asks_for(int node) const { return asked_ == nullptr || asked_[static_cast<std::size_t>(node)]; }

 private:
  std::unique_ptr<bool[]> groups_, asked_;
};

}  // namespace gradual::detail

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/autodiff/needed_kernels.ipp>
#endif
