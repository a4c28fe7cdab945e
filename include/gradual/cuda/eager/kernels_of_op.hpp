#pragma once
#include <gradual/cuda/eager/map_kernels.hpp>
#include <gradual/cuda/eager/reduce_kernels.hpp>

namespace gradual::cuda {

/// The kernels of one op, where it is elementwise or a reduction inside a sample.
struct KernelsOfOp {
  void (*map_f32)(MapTask) = nullptr;
  void (*map_f64)(MapTask) = nullptr;
  void (*map_i32)(MapTask) = nullptr;
  void (*row_f32)(RowTask) = nullptr;
  void (*row_f64)(RowTask) = nullptr;
  void (*long_row_f32)(RowTask) = nullptr;
  void (*long_row_f64)(RowTask) = nullptr;
};
template <class Op>
KernelsOfOp kernels_of() {
  KernelsOfOp result;
  if constexpr (op_info<Op>.kind == Kind::map) {
    result.map_f32 = &elementwise_kernel<Op, float>;
    result.map_f64 = &elementwise_kernel<Op, double>;
    if constexpr (requires { Op::takes_integers; }) result.map_i32 = &elementwise_kernel<Op, std::int32_t>;
  } else {
    result.row_f32 = &reduce_rows_kernel<Op, float>;
    result.row_f64 = &reduce_rows_kernel<Op, double>;
    result.long_row_f32 = &reduce_long_rows_kernel<Op, float>;
    result.long_row_f64 = &reduce_long_rows_kernel<Op, double>;
  }
  return result;
}
template <class... Op>
const KernelsOfOp* kernels_of_list(OpList<Op...>) {
  static const KernelsOfOp kernels[] = {kernels_of<Op>()...};
  return kernels;
}

}  // namespace gradual::cuda
