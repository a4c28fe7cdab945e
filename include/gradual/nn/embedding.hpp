#pragma once
#include <gradual/autodiff/ops/gather.hpp>
#include <gradual/autodiff/ops/matmul.hpp>
#include <gradual/autodiff/ops/stop_gradient.hpp>
#include <gradual/autodiff/ops/where.hpp>
#include <gradual/nn/init.hpp>

namespace gradual::nn {

/// A table of learned rows, looked up by index: maps [batch, ...] of int32 below `count` to [batch, ..., width]. The row
/// `padding_idx` starts at zero and gets no gradient from lookups.
/// Parameter: weight [count, width], normal with deviation 1. Errors: ShapeError for a `padding_idx` outside the table;
/// TypeError for indices that are not int32; at run time, DataError for an index outside the table.
class Embedding {
 public:
  struct Options {
    std::int64_t padding_idx = -1;  ///< the row for padding, as in PyTorch; −1: none
  };

  constexpr Embedding(Scope scope, std::int64_t count, std::int64_t width, Initializer weight = init::normal(1))
      : Embedding(scope, count, width, Options{}, weight) {}
  constexpr Embedding(Scope scope, std::int64_t count, std::int64_t width, const Options& options,
                      Initializer weight = init::normal(1))
      : weight_(scope.parameter("weight", Shape{count, width}, padded(weight, options.padding_idx, width))),
        padding_idx_(options.padding_idx) {}

  constexpr Var operator()(Var index) const {
    const Var rows = gather(weight_, index);
    if (padding_idx_ < 0 || !rows.valid()) return rows;
    Shape column = index.shape();
    column.extent[column.rank++] = 1;
    return where(reshape(index, column) == static_cast<double>(padding_idx_), stop_gradient(rows), rows);
  }

  /// Scores x against each row, for an output layer that shares the table (Press and Wolf 2017): [batch, ..., width] to
  /// [batch, ..., count].
  constexpr Var scores(Var x) const { return matmul(x, weight_, false, true); }

  /// For example for a penalty on it.
  constexpr const Parameter& weight() const { return weight_; }

 private:
  static constexpr Initializer padded(Initializer weight, std::int64_t row, std::int64_t width) {
    if (row != -1) weight.zeros_begin = row * width, weight.zeros_end = weight.zeros_begin + width;
    return weight;
  }

  Parameter weight_;
  std::int64_t padding_idx_;
};

}  // namespace gradual::nn
