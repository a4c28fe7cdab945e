#pragma once
#include <algorithm>

#include <gradual/train/frozen.hpp>
#include <gradual/train/gradient_noise.hpp>

namespace gradual::detail {

/// Returns the squares of the gradients that are not frozen, stored one parameter after another. `before`: those last measured
/// in the window; empty: none were.
template <class Sum>
GradientSquares squares_of(std::span<const ParameterInfo> parameters, const Frozen& frozen,
                           std::span<const Sum> now, std::span<const Sum> before) {
  GradientSquares result;
  std::size_t begin = 0;
  for (int p = 0; p < static_cast<int>(parameters.size()); ++p) {
    const auto count = static_cast<std::size_t>(parameters[static_cast<std::size_t>(p)].shape.unit());
    if (!frozen.contains(p))
      result.add(now.subspan(begin, count), before.empty() ? before : before.subspan(begin, count));
    begin += count;
  }
  return result;
}

/// Measures the noise of a session's gradients between small batches of its windows. The holder of the gradients squares those
/// of an unfinished window (`square_so_far`) and those of a complete one (`square_gradients`).
class NoiseMeasure {
 public:
  /// `batch`: samples per small batch; 0: measures nothing.
  explicit NoiseMeasure(std::int64_t batch) : batch_(batch) {}

  bool measures() const { return batch_ > 0; }
  /// Returns the noise of the last window; empty where it was not measured.
  const GradientNoise& last() const { return last_; }
  /// Returns how many of the next `samples` samples belong to one small batch, in a window that has come to `position`.
  std::int64_t within_batch(std::int64_t samples, std::int64_t position) const {
    return batch_ > 0 ? std::min(samples, batch_ - position % batch_) : samples;
  }

  void begin_window() { sums_ = {}; }
  /// Gives up on a window of which a part was not seen.
  void give_up() {
    sums_.give_up();
    last_ = {};
  }

  /// Adds the small batch that ends at `position`, if one does, where the unfinished window has this weight; its unfinished
  /// blocks are part of it.
  template <class Holder>
  void add(Holder& holder, std::int64_t position, double weight) {
    if (batch_ > 0 && position % batch_ == 0 && sums_.whole())
      sums_.add(holder.square_so_far(position, weight, sums_.empty()).added, weight);
  }

  /// Returns the ended window's small batches, which are kept until the next begins: its step may fail and be made again.
  NoiseSums end_window() {
    last_ = {};
    return sums_;
  }
  /// Adds the last small batch of that window, whose gradients are complete.
  template <class Holder>
  void finish(Holder& holder, NoiseSums sums, double weight, double loss_scale) {
    if (batch_ == 0 || sums.empty() || !sums.whole()) return;
    const GradientSquares squares = holder.square_gradients();
    sums.add(squares.added, weight);
    last_ = sums.of_window(squares.all);
    last_.gradient_squared /= loss_scale * loss_scale;
    last_.variance /= loss_scale * loss_scale;
  }

 private:
  std::int64_t batch_;
  NoiseSums sums_;  // of the window that has begun
  GradientNoise last_;
};

}  // namespace gradual::detail
