#pragma once
#include <utility>

#include <gradual/train/averages.hpp>

namespace gradual::detail {

/// The losses, metrics and weights of one part, as a queue was asked to fetch them.
template <class E>
struct FetchedLosses {
  const E* values[max_loss_arrays];  ///< as those of `MetricSet`, and weights where there are any
  const E* weights;                  ///< or null, all ones
  std::int64_t count;
  int place;  ///< what the queue waits for
};

/// Those of parts that a device has computed or will have, while the host goes on: they are added when they have come,
/// in the order of the parts, so that the sums have the bits of those that were waited for.
template <class E>
class LossesAhead {
 public:
  void push(const FetchedLosses<E>& part) { part_[count_++] = part; }
  /// Adds all but the last `left` parts. Errors: DeviceError; what was not added can be asked for again.
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
