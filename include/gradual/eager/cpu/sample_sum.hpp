#pragma once
#include <gradual/autodiff/ops/conv2d.hpp>
#include <gradual/autodiff/ops/uses.hpp>
#include <gradual/core/cpu/batch_convolution.hpp>
#include <gradual/core/cpu/contraction_of_uses.hpp>
#include <gradual/core/cpu/gather.hpp>
#include <gradual/eager/cpu/batch_sum.hpp>
#include <gradual/eager/cpu/values.hpp>

namespace gradual::eager {

/// A sum over the samples of a window, computed part by part.
template <class T>
class CpuSampleSum {
 public:
  CpuSampleSum(const Tape& tape, int id)
      : tape_(tape), id_(id), node_(tape[id]), p_(Executor::positions(tape, node_)), kind_(node_.op->kind) {}

  /// Returns how many 16-bit elements become floats at a time, before they are summed.
  std::int64_t widened() const {
    std::int64_t elements = 0;
    for (int k = 0; k < node_.op->arity; ++k)
      if (is_small(tape_[node_.in[k]].dtype)) elements += tape_[node_.in[k]].shape.unit() * block_samples(p_);
    return elements;
  }
  /// Returns the workspace of each thread, in elements.
  std::int64_t workspace() const {
    if (kind_ == Kind::batch_contract) return row_workspace(0) + row_workspace(1) + contraction().template workspace<T>();
    if (kind_ == Kind::batch_scatter) return cpu::scatter_workspace(node_.shape.extent[1]);
    if (kind_ == Kind::batch_convolve) return cpu::BatchConvolutionSpace<T>::elements(convolution());
    return batch_sum_chains;
  }

  /// Adds samples [begin, begin + batch) of the window.
  void add(CpuValues& values, const Shadow& shadow, std::int64_t begin, bool last) const {
    const cpu::WindowPart<T> window{shadow.total().as<T>(),
                                    shadow.open().empty() ? shadow.total().as<T>() : shadow.open().as<T>(),
                                    begin * p_,
                                    values.batch() * p_,
                                    shadow.is_fresh(),
                                    last};
    const bool widens = widened() > 0;
    if constexpr (std::is_same_v<T, float>)
      if (widens) add_widened(values, window);
    if (!widens) add_positions(values, window, operands_of(values));
  }

  /// Adds the chains of an unfinished block, which is the last.
  void close(CpuValues& values, const Shadow& shadow) const {
    T *const total = shadow.total().as<T>(), *const open = shadow.open().as<T>();
    const std::int64_t count = node_.shape.unit();
    values.share_out<T>(count * element_work, 0, [&](cpu::Part part, T*) {
      const cpu::Part::Range range = part.of(count, 64);
      for (std::int64_t i = range.begin; i < range.end && shadow.is_fresh(); ++i) total[i] = T(0);
      for (std::int64_t i = range.begin; i < range.end && shadow.has_open(); ++i) total[i] += open[i];
    });
  }

 private:
  /// The addresses of the values that make up the operands, or of indices.
  struct Operands {
    std::span<const void* const> in[2];
    const std::int32_t* index = nullptr;
  };
  Operands operands_of(CpuValues& values) const {
    Operands operands;
    for (int k = 0; k < node_.op->arity; ++k)
      if (k == 1 && kind_ == Kind::batch_scatter) operands.index = values.read<std::int32_t>(tape_, node_.in[1]);
      else operands.in[k] = values.addresses_of_uses(tape_, id_, k);
    return operands;
  }

  /// Does the same as `add` for 16-bit elements: up to the end of a block at a time, which leaves nothing open.
  void add_widened(CpuValues& values, const cpu::WindowPart<T>& window) const {
    const Operands all = operands_of(values);
    const std::int64_t begin = p_ == 0 ? 0 : window.begin / p_, end = begin + values.batch();
    std::vector<const void*> floats[2];
    for (std::int64_t at = begin; at < end;) {
      const std::int64_t stop = std::min((at / block_samples(p_) + 1) * block_samples(p_), end);
      T* to = values.rows<T>(widened());
      Operands some{{}, all.index};
      for (int k = 0; k < 2; ++k) {
        floats[k].clear();
        for (std::size_t u = 0; u < all.in[k].size(); ++u) {
          const Node& use = tape_[use_of(tape_.nodes.data(), node_.in[k], static_cast<int>(u))];
          const std::int64_t unit = use.shape.unit();
          widen(use.dtype, all.in[k][u], (at - begin) * unit, (stop - at) * unit, to);
          floats[k].push_back(to);
          to += (stop - at) * unit;
        }
        some.in[k] = floats[k];
      }
      if (some.index != nullptr) some.index += (at - begin) * p_;
      add_positions(values, {window.total, window.open, at * p_, (stop - at) * p_, window.first && at == begin,
                             window.last && stop == end}, some);
      at = stop;
    }
  }

  cpu::BatchContractionForm contraction() const { return {node_.shape.extent[0], node_.shape.extent[1], p_}; }
  std::int64_t columns(int k) const { return tape_[node_.in[k]].shape.extent[1]; }
  std::int64_t row_workspace(int k) const {
    return cpu::RowsOfUses<T>::workspace(count_of_uses(tape_.nodes.data(), node_.in[k]), columns(k));
  }
  Convolution convolution() const { return convolution_of(node_, tape_[node_.in[0]].shape, tape_[node_.in[1]].shape); }

  void add_positions(CpuValues& values, const cpu::WindowPart<T>& window, const Operands& operands) const {
    const auto share_out = [&](std::int64_t work, auto f) { values.share_out<T>(work, workspace(), f); };
    if (kind_ == Kind::batch_contract) {
      const std::span<const void* const> a = operands.in[0], g = operands.in[1];
      const auto positions = [&](auto of) { return p_ / static_cast<std::int64_t>(of.size()); };
      const cpu::RowsOfUses<T> rows_of_a{a, columns(0), positions(a)}, rows_of_g{g, columns(1), positions(g)};
      return share_out(window.count * node_.shape.unit(), [&](cpu::Part part, T* space) {
        cpu::contraction_of_uses(rows_of_a, rows_of_g, p_, window, space,
                                 [&](const T* x, const T* y, const cpu::WindowPart<T>& block, T* rest) {
                                   cpu::batch_contraction(contraction(), x, y, block, rest, part);
                                 });
      });
    }
    const T* const x = static_cast<const T*>(operands.in[0][0]);
    if (kind_ == Kind::batch_scatter) {
      share_out(window.count * node_.shape.extent[1] * element_work, [&](cpu::Part part, T* space) {
        cpu::batch_scatter(x, operands.index, node_.shape.extent[0], node_.shape.extent[1], p_, window, space, part);
      });
    } else if (kind_ == Kind::batch_convolve) {
      const T* const g = static_cast<const T*>(operands.in[1][0]);
      share_out(window.count * node_.shape.unit(), [&](cpu::Part part, T* space) {
        cpu::batch_convolution(convolution(), tape_[node_.in[0]].shape.extent[0], x, g, window, space, part);
      });
    } else {
      share_out(window.count * node_.shape.unit() * element_work,
                [&](cpu::Part part, T* space) { batch_sum(x, node_.shape.unit(), p_, window, space, part); });
    }
  }

  const Tape& tape_;
  int id_;
  const Node& node_;
  std::int64_t p_;
  Kind kind_;
};

}  // namespace gradual::eager
