#pragma once
#include <gradual/autodiff/ops.hpp>
#include <gradual/autodiff/randomness.hpp>
#include <gradual/autodiff/strided_view.hpp>
#include <gradual/cuda/simt.hpp>

// Kernels of eager ops that work element by element. Sizes and views are known only at launch; loops are not unrolled, since
// there is a kernel for each op and type.

namespace gradual::cuda {

/// An operand as kernels read it: elements in memory, in their order or as a view, one number, or indices.
struct MapOperand {
  enum class From : unsigned char { memory, view, number, index } from = From::number;
  DType dtype = DType::f32;  ///< of the elements in memory
  const void* data = nullptr;
  double number = 0;
  StridedView view;

  /// Returns element i, as a T.
  template <class T>
  GRADUAL_DEVICE T read(std::int64_t i) const {
    if (from == From::number) return static_cast<T>(number);
    const std::int64_t at = from == From::memory ? i : view.place(i);
    if (from == From::index) return static_cast<T>(at);
    if (dtype == DType::f32) return static_cast<T>(static_cast<const float*>(data)[at]);
    if (dtype == DType::f64) return static_cast<T>(static_cast<const double*>(data)[at]);
    return static_cast<T>(static_cast<const std::int32_t*>(data)[at]);
  }
};

/// An elementwise op; operands that it does not have are not read.
struct MapTask {
  MapOperand in[3];
  void* out = nullptr;
  std::int64_t count = 0;
};

/// The one kernel of elementwise ops. Comparisons of integers give float.
template <class Op, class T>
GRADUAL_KERNEL void elementwise_kernel(MapTask task) {
  using R = std::conditional_t<std::is_same_v<T, std::int32_t>, float, T>;
  R* const out = static_cast<R*>(task.out);
  GRADUAL_UNROLL(1)
  for (std::int64_t i = global_thread(); i < task.count; i += global_threads()) {
    const T a = task.in[0].read<T>(i);
    if constexpr (Op::arity == 1) {
      out[i] = static_cast<R>(Op::apply(a));
    } else {
      const T b = task.in[1].read<T>(i);
      if constexpr (Op::arity == 2)
        out[i] = static_cast<R>(Op::apply(a, b));
      else
        out[i] = static_cast<R>(Op::apply(a, b, task.in[2].read<T>(i)));
    }
  }
}

/// Writes the first operand to memory.
template <class T>
GRADUAL_KERNEL void view_kernel(MapTask task) {
  GRADUAL_UNROLL(1)
  for (std::int64_t i = global_thread(); i < task.count; i += global_threads())
    static_cast<T*>(task.out)[i] = task.in[0].read<T>(i);
}

/// Writes rows of `own` elements, each followed by `rest` elements of `others`.
template <class T>
GRADUAL_KERNEL void uses_kernel(const T* first, const T* others, T* out, std::int64_t own, std::int64_t rest,
                                std::int64_t rows) {
  GRADUAL_UNROLL(1)
  for (std::int64_t i = global_thread(); i < rows * (own + rest); i += global_threads()) {
    const std::int64_t row = i / (own + rest), at = i % (own + rest);
    out[i] = at < own ? first[row * own + at] : others[row * rest + at - own];
  }
}

/// Pads rows of `own` elements by one value: `before` places before them, and others after them, up to `row` places.
template <class T>
GRADUAL_KERNEL void pad_kernel(const T* x, T* out, T value, std::int64_t own, std::int64_t before, std::int64_t row,
                               std::int64_t count) {
  GRADUAL_UNROLL(1)
  for (std::int64_t i = global_thread(); i < count; i += global_threads()) {
    const std::int64_t at = i % row - before;
    out[i] = at >= 0 && at < own ? x[i / row * own + at] : value;
  }
}

/// Writes one piece of a join: rows of `own` elements, with `zero` added to each, at place `before` of rows of `row`.
template <class T>
GRADUAL_KERNEL void piece_kernel(const T* x, T* out, T zero, std::int64_t own, std::int64_t before, std::int64_t row,
                                 std::int64_t count) {
  GRADUAL_UNROLL(1)
  for (std::int64_t i = global_thread(); i < count; i += global_threads()) out[i / own * row + before + i % own] = x[i] + zero;
}

/// Writes what a random op draws: `unit` elements for each sample where it is `batched`.
template <class T, class Draw>
GRADUAL_KERNEL void draw_kernel(T* out, Randomness random, std::int64_t source, bool batched, Draw draw, std::int64_t unit,
                                std::int64_t count) {
  GRADUAL_UNROLL(1)
  for (std::int64_t i = global_thread(); i < count; i += global_threads())
    out[i] = draw(random.key(source, batched, i / unit), static_cast<std::uint32_t>(i % unit));
}

}  // namespace gradual::cuda
