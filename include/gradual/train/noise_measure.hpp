#pragma once
#include <algorithm>
#include <utility>

#include <gradual/autodiff/shadow.hpp>
#include <gradual/train/gradient_noise.hpp>

namespace gradual::detail {

/// Measures the noise of a session's gradients between small batches of its windows.
template <class Arena>
class NoiseMeasure {
 public:
  /// `batch`: samples of a small batch; 0: nothing is measured.
  explicit NoiseMeasure(std::int64_t batch) : batch_(batch) {}

  /// Of the last window; of none where it was not measured.
  const GradientNoise& last() const { return last_; }
  /// Of the next `samples` samples those that belong to one small batch, in a window that has come to `position`.
  std::int64_t within_batch(std::int64_t samples, std::int64_t position) const {
    return batch_ > 0 ? std::min(samples, batch_ - position % batch_) : samples;
  }

  void begin_window() { sums_ = {}; }
  /// A part of the window was not seen.
  void give_up() {
    sums_.give_up();
    last_ = {};
  }

  /// The window, which goes on, has come to `position` and `weight`: a small batch that has ended there is added. Unfinished
  /// blocks are a part of it.
  void add(Arena& arena, std::int64_t position, double weight) {
    if (batch_ > 0 && position % batch_ == 0 && sums_.whole()) add_batch(arena, position, weight);
  }

  /// The small batches of the window that ends, of which nothing is kept.
  NoiseSums end_window() {
    last_ = {};
    return std::exchange(sums_, {});
  }
  /// The gradients of that window are complete: its last small batch is added.
  void finish(Arena& arena, const NoiseSums& sums, double weight, double loss_scale) {
    if (batch_ > 0 && !sums.empty() && sums.whole()) last_ = with_last_batch(arena, sums, weight, loss_scale);
  }

 private:
  using Layout = typename Arena::Layout;

  [[gnu::cold]] void add_batch(Arena& arena, std::int64_t position, double weight) {
    const bool open = position % Layout::block_samples() != 0;
    const bool kept = open || is_compensated<typename Layout::Shadow>;
    if (kept) arena.keep_sums(position);
    if (open) arena.close_blocks(position);
    arena.finish_gradients(weight);
    sums_.add(arena.square_gradients(sums_.empty()).added, weight);
    if (kept) arena.restore_sums(position);
  }
  [[gnu::cold]] static GradientNoise with_last_batch(Arena& arena, NoiseSums sums, double weight, double loss_scale) {
    const auto squares = arena.square_gradients(false);
    sums.add(squares.added, weight);
    GradientNoise result = sums.of_window(squares.all);
    result.gradient_squared /= loss_scale * loss_scale;
    result.variance /= loss_scale * loss_scale;
    return result;
  }

  std::int64_t batch_;
  NoiseSums sums_;  // of the window that has begun
  GradientNoise last_;
};

}  // namespace gradual::detail
