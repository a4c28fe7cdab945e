#pragma once
#include <gradual/train/averages.hpp>

namespace gradual::detail {

/// The losses, metrics and weights of one part that a queue was asked to fetch.
template <class E>
struct FetchedLosses {
  const E* values[max_loss_arrays];  ///< as in `MetricSet`, then weights if any
  const E* weights;                  ///< null: all ones
  std::int64_t count;
  int place;  ///< argument of the queue's `wait_for`
};

/// The losses of parts that a device computes while the host goes on. Adds them as they arrive, in the order of the parts, so
/// that the sums have the same bits as if each had been waited for.
template <class E>
class LossesAhead {
 public:
  void push(const FetchedLosses<E>& part) { part_[count_++] = part; }
  /// Adds all but the last `left` parts. Errors: DeviceError; parts not added yet can be requested again.
  template <class Queue>
  [[gnu::hot]] void add_to(Averages& sums, const Queue& queue, int left = 0) {
    while (count_ > left) {
      queue.wait_for(part_[0].place);
      sums.add(part_[0].values, part_[0].weights, part_[0].count);
      if (--count_ > 0) part_[0] = part_[1];
    }
  }
  void forget() { count_ = 0; }

 private:
  FetchedLosses<E> part_[2]{};
  int count_ = 0;
};

}  // namespace gradual::detail
