#pragma once
#include <algorithm>

#include <gradual/autodiff/cpu/window_part_of.hpp>
#include <gradual/autodiff/ops/gather.hpp>
#include <gradual/core/alignment.hpp>
#include <gradual/core/cpu/gather.hpp>
#include <gradual/core/cpu/held_rows.hpp>
#include <gradual/core/cpu/thread_pool.hpp>

namespace gradual::cpu {

/// The kernel of gather node `Id` of program P, or of its adjoint.
template <class P, int Id>
class GatherKernel {
  static constexpr Node node = P::template node<Id>;
  static constexpr bool scatters = node.op->kind == Kind::batch_scatter;
  static constexpr Shape table = scatters ? node.shape : P::template node<node.in[0]>.shape;
  static constexpr std::int64_t width = table.extent[1], positions = P::template node<node.in[1]>.shape.unit();
  using E = ElementOf<P::template node<node.in[0]>.dtype>;
  using T = Computed<E>;

 public:
  /// Whether unfinished blocks can be kept as rows: for a large table, of which a block names few rows.
  static constexpr bool holds_rows = scatters && HeldRowsForm{1, width, positions, table.unit()}.pays();

  /// Returns the number of samples in such a block.
  static constexpr std::int64_t block_samples() { return gradual::block_samples(positions); }

  static constexpr std::int64_t workspace_bytes() {
    return scatters ? aligned(scatter_workspace(width) * std::int64_t{sizeof(T)}) : 0;
  }
  /// Returns the work for each sample. Setting the sums of a large table to 0 is worth threads, however few samples there are.
  static constexpr std::int64_t work() {
    return scatters && table.unit() > worth_threads ? std::max(positions * width, worth_threads) : positions * width;
  }

  GRADUAL_KERNEL_CODE static void run(const StepArguments& s) {
    if constexpr (holds_rows) held(s).contract(index(s), from(s), window(s), s.part, scatter(s));
    else if constexpr (scatters) scatter(s)(index(s), from(s), window(s));
    else gather(from(s), index(s), static_cast<E*>(s.address[Id]), s.batch * positions, width, s.part);
  }

  /// Keeps rows of blocks that were begun before or that stay unfinished; called before and after `run`.
  template <bool Begun>
  static void hold(const StepArguments& s) {
    held(s).take(Begun, index(s), from(s), window(s), s.part);
  }
  /// Sums the held rows when a window has come to sample `s.begin`: into `open` or, if null, into its total.
  static void sum_held(const StepArguments& s, void* open) {
    held(s).template sum_block<T>(s.begin * positions, window(s).total, static_cast<T*>(open), scatter(s));
  }

 private:
  static const E* from(const StepArguments& s) {
    return static_cast<const E*>(s.address[P::template storage<node.in[0]>]);
  }
  static const std::int32_t* index(const StepArguments& s) {
    return static_cast<const std::int32_t*>(s.address[P::template storage<node.in[1]>]);
  }
  static auto window(const StepArguments& s) { return window_part_of<P, Id, T>(s, positions); }
  static HeldRows<std::int32_t, E> held(const StepArguments& s) {
    return {{1, width, positions, table.unit()}, s.open[Id], s.held_from};
  }
  static auto scatter(const StepArguments& s) {
    return [&s](const std::int32_t* named, const E* values, const auto& part) {
      batch_scatter(values, named, table.extent[0], width, positions, part, reinterpret_cast<T*>(s.workspace), s.part);
    };
  }
};

}  // namespace gradual::cpu
