#pragma once
#include <memory>
#include <span>

#include <gradual/autodiff/program_tables.hpp>

namespace gradual::detail {

/// What a program must compute if the gradients of some parameters are not needed.
class NeededKernels {
 public:
  NeededKernels(const ProgramTables& program, std::span<const int> without_gradient);

  /// Returns, by kernel group, whether it is needed; null: all are.
  const bool* groups() const { return groups_.get(); }
  /// Whether a node itself is needed, not only another one of its kernel.
  bool asks_for(int node) const { return asked_ == nullptr || asked_[static_cast<std::size_t>(node)]; }

 private:
  std::unique_ptr<bool[]> groups_, asked_;
};

}  // namespace gradual::detail

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/autodiff/needed_kernels.ipp>
#endif
