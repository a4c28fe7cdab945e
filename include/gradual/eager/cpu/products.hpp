#pragma once
#include <gradual/autodiff/ops/conv2d.hpp>
#include <gradual/core/cpu/convolution.hpp>
#include <gradual/core/cpu/matmul.hpp>
#include <gradual/eager/cpu/values.hpp>

namespace gradual::eager {

template <class T>
void run_matmul(CpuValues& values, const Tape& tape, int id) {
  const Node& node = tape[id];
  const Shape &sa = tape[node.in[0]].shape, &sb = tape[node.in[1]].shape, &sc = node.shape;
  const bool ta = node.attributes.integer[0] & 1, tb = node.attributes.integer[0] & 2;
  const std::int64_t m = sc.extent_of(sc.rank - 2, values.batch()), n = sc.extent_of(sc.rank - 1, values.batch());
  const std::int64_t k = sa.extent_of(sa.rank - (ta ? 2 : 1), values.batch());
  const T *a = values.read<T>(tape, node.in[0]), *b = values.read<T>(tape, node.in[1]);
  T* const c = values.create<T>(tape, id);
  const std::int64_t count = values.elements(node), stack = m * n == 0 ? 0 : count / (m * n), b_step = sb.rank > 2 ? k * n : 0;
  const cpu::MatmulForm form{n, k, ta, tb, ta ? m : 0};
  values.share_out<T>(count * k, form.workspace<T>(), [&](cpu::Part part, T* space) {
    if (stack == 1) return cpu::matmul(form, a, b, c, m, space, part);
    const auto [first, last] = part.of(stack);
    for (std::int64_t s = first; s < last; ++s) cpu::matmul(form, a + s * m * k, b + s * b_step, c + s * m * n, m, space);
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
