#pragma once
#include <gradual/cuda/loop_kernels.hpp>

namespace gradual::cuda {

/// Shared memory for elements of a loop that a block of threads computes side by side and then reduces in order: for each of
/// its reducing slots that `Those` selects, a tile of at most `MostRows` × 32 numbers, of as many rows as fit into 32 KiB.
template <class Body, bool (*Those)(const Slot&), int MostRows>
class ReductionTile {
  static constexpr bool any_double() {
    bool any = false;
    for (const Slot& slot : Body::plan.slots) any |= Those(slot) && Body::plan.slots[slot.in[0]].dtype == DType::f64;
    return any;
  }

 public:
  using Cell = std::conditional_t<any_double(), double, float>;  ///< can hold an operand of any of the reductions
  static constexpr int columns = warp_size;
  static constexpr int count = Body::plan.count_of(Those);
  template <int S>
  static constexpr int place = Body::plan.count_of(Those, S);  ///< of slot S among the reductions

 private:
  static constexpr int bytes_of_row = count * columns * static_cast<int>(sizeof(Cell)), most_bytes = 32 * 1024;
  static constexpr int fitting_rows() {
    int fit = MostRows;
    while (fit > 1 && fit * bytes_of_row > most_bytes) fit /= 2;
    return fit;
  }

 public:
  static constexpr int rows = fitting_rows();
  static_assert(bytes_of_row <= most_bytes, "a fused loop has more reductions than fit a thread block's memory");
  struct Shared {
    Cell tile[count][rows][columns];
  };

  /// Stores the operands of reductions of one element in their places.
  struct Sink {
    template <int S>
    static constexpr bool takes = Those(Body::plan.slots[S]);

    Shared& shared;
    int row, column;
    template <int S, class X>
    GRADUAL_DEVICE void reduce(X x, std::int64_t) {
      if constexpr (takes<S>) shared.tile[place<S>][row][column] = x;
    }
  };
};

}  // namespace gradual::cuda
