#pragma once
#include <gradual/autodiff/ops/conv2d.hpp>
#include <gradual/autodiff/ops/matmul.hpp>
#include <gradual/core/cpu/convolution.hpp>
#include <gradual/core/cpu/matmul.hpp>
#include <gradual/eager/cpu/values.hpp>

namespace gradual::eager {

template <class T>
void run_matmul(CpuValues& values, const Tape& tape, int id) {
  const Node& node = tape[id];
  const ProductForm p = product_of(node, tape[node.in[0]].shape, values.batch());
  const T *a = values.read<T>(tape, node.in[0]), *b = values.read<T>(tape, node.in[1]);
  T* const c = values.create<T>(tape, id);
  const cpu::MatmulForm form{p.n, p.k, p.trans_a, p.trans_b, p.trans_a ? p.m : 0};
  values.share_out<T>(values.elements(node) * p.k, form.workspace<T>(), [&](cpu::Part part, T* space) {
    if (p.stack == 1) return cpu::matmul(form, a, b, c, p.m, space, part);
    const auto [first, last] = part.of(p.stack);
    for (std::int64_t s = first; s < last; ++s)
      cpu::matmul(form, a + s * p.m * p.k, b + s * p.k * p.n, c + s * p.m * p.n, p.m, space);
  });
}

template <class T>
void run_convolution(CpuValues& values, const Tape& tape, int id) {
  const Node& node = tape[id];
  const Convolution c = convolution_of(node, tape[node.in[0]].shape, tape[node.in[1]].shape);
  const T *x = values.read<T>(tape, node.in[0]), *w = values.read<T>(tape, node.in[1]);
  T* const y = values.create<T>(tape, id);
  const std::int64_t images = node.shape.extent[0] * values.batch();
  values.share_out<T>(images * c.multiply_adds(), cpu::convolution_space<T>(c), [&](cpu::Part part, T* space) {
    cpu::convolution(c, x, w, y, images, space, part);
  });
}

}  // namespace gradual::eager
