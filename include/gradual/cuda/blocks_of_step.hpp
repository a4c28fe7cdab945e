#pragma once
#include <gradual/core/canonical.hpp>
#include <gradual/cuda/step.hpp>

namespace gradual::cuda {

/// The blocks in which a micro-batch lies, for what has so many positions in each sample.
struct BlocksOfStep {
  std::int64_t count, closed;  ///< of these, which are the first

  GRADUAL_DEVICE BlocksOfStep(const Step& step, std::int64_t positions)
      : positions_(positions), begin_(step.begin * positions), end_(begin_ + positions * step.batch) {
    first_ = block_number(begin_, positions);
    count = block_number(end_ - 1, positions) - first_ + 1;
    closed = step.last || block_end(end_ - 1, positions) == end_ ? count : count - 1;
  }

  /// Rows [begin, end) of the micro-batch; `goes_on`: its block was begun by an earlier one.
  struct Rows {
    std::int64_t begin, end;
    bool goes_on;
  };
  GRADUAL_DEVICE Rows rows(std::int64_t number) const {
    const std::int64_t start = block_start(first_ + number, positions_), at = start < begin_ ? begin_ : start;
    const std::int64_t end = block_end(at, positions_);
    return {at - begin_, (end < end_ ? end : end_) - begin_, start < begin_};
  }

  /// total += the chains of closed blocks, of type T, in their order; `stride`: from one block's chain to the next one's.
  template <class T, class W, class Cell>
  GRADUAL_DEVICE void add_closed(W& total, const Cell* chain, std::int64_t stride) const {
    constexpr int ahead = 32;  // are read before the first is added: additions wait for one another, reads need not
    for (std::int64_t i = 0; i < closed; i += ahead) {
      T next[ahead];
      GRADUAL_UNROLL(32)
      for (int j = 0; j < ahead; ++j) next[j] = i + j < closed ? static_cast<T>(chain[(i + j) * stride]) : T(0);
      GRADUAL_UNROLL(32)
      for (int j = 0; j < ahead; ++j)
        if (i + j < closed) total += next[j];
    }
  }

 private:
  std::int64_t positions_, begin_, end_, first_;
};

}  // namespace gradual::cuda
