#pragma once
#include <gradual/autodiff/cpu/own_rows_kernel.hpp>
#include <gradual/autodiff/cpu/pooling_kernel.hpp>
#include <gradual/core/cpu/gather.hpp>
#include <gradual/eager/cpu/values.hpp>

namespace gradual::eager {

template <class T>
void run_pool(CpuValues& values, const Tape& tape, int id) {
  const Node& node = tape[id];
  const Pooling p = recorded_pooling(tape.nodes.data(), node);
  const void* in[3]{};
  for (int k = 0; k < node.op->arity; ++k) in[k] = values.read<T>(tape, node.in[k]);
  T* const out = values.create<T>(tape, id);
  const std::int64_t planes = node.shape.product(0, 2) * values.batch();
  values.share_out<T>(planes * p.places(), cpu::pooling_workspace(p),
                      [&](cpu::Part part, T* space) { cpu::run_pooling(node, p, in, out, planes, space, part); });
}

/// Gathers rows of a table. Indices were checked when the op was recorded.
template <class T>
void run_gather(CpuValues& values, const Tape& tape, int id) {
  const Node& node = tape[id];
  const Shape& rows = tape[node.in[0]].shape;
  const auto* index = values.read<std::int32_t>(tape, node.in[1]);
  const std::int64_t count = values.elements(tape[node.in[1]]);
  const T* from = values.read<T>(tape, node.in[0]);
  T* const out = values.create<T>(tape, id);
  values.share_out<T>(count * rows.extent[1] * element_work, 0,
                      [&](cpu::Part part, T*) { cpu::gather(from, index, out, count, rows.extent[1], part); });
}

/// Gathers rows of each sample's own table, or adds rows up into it. Indices were checked when the op was recorded.
template <class T>
void run_own_rows(CpuValues& values, const Tape& tape, int id) {
  const Node& node = tape[id];
  const cpu::OwnRows own = cpu::own_rows(node, tape[node.in[0]].shape, tape[node.in[1]].shape);
  const auto* index = values.read<std::int32_t>(tape, node.in[1]);
  const T* from = values.read<T>(tape, node.in[0]);
  T* const out = values.create<T>(tape, id);
  const std::int64_t samples = values.batch(), work = samples * own.positions * own.width * element_work;
  if (node.op->kind == Kind::gather_own)
    values.share_out<T>(work, 0, [&](cpu::Part part, T*) { cpu::gather_own(own, from, index, out, samples, part); });
  else
    values.share_out<T>(work, cpu::scatter_own_workspace<T>(own.table(), own.positions), [&](cpu::Part part, T* space) {
      cpu::scatter_own(own, from, index, out, samples, space, part);
    });
}

/// Runs `Pad`: writes elements of one value before and behind those of an axis.
template <class T>
void run_pad(CpuValues& values, const Tape& tape, int id) {
  const Node& node = tape[id];
  const Shape& from = tape[node.in[0]].shape;
  const int axis = static_cast<int>(node.attributes.integer[0]);
  const std::int64_t inner = from.product(axis + 1, from.rank, values.batch());
  const T* x = values.read<T>(tape, node.in[0]);
  const T value = static_cast<T>(node.attributes.number);
  const std::int64_t own = from.extent[axis] * inner, row = node.shape.extent[axis] * inner,
                     before = node.attributes.integer[1] * inner;
  T *out = values.create<T>(tape, id), *const end = out + values.elements(node);
  for (; out != end; out += row, x += own) {
    std::fill(out, out + before, value);
    std::copy(x, x + own, out + before);
    std::fill(out + before + own, out + row, value);
  }
}

GRADUAL_BEGIN_LOOPS
/// Runs a join: writes each piece to its place, plus the zero that it is padded with.
template <class T>
void run_join(CpuValues& values, const Tape& tape, int id, const Join& join) {
  const Node& node = tape[id];
  const std::int64_t inner = node.shape.product(join.axis + 1, node.shape.rank, values.batch());
  const std::int64_t row = node.shape.extent[join.axis] * inner;
  const T zero = static_cast<T>(join.zero);
  T *const out = values.create<T>(tape, id), *const end = out + values.elements(node);
  for (const JoinPiece& piece : join.pieces) {
    const std::int64_t own = tape[piece.node].shape.extent[join.axis] * inner;
    const T* x = values.read<T>(tape, piece.node);
    for (T* to = out + piece.first * inner; to < end; to += row, x += own) {
      GRADUAL_IVDEP
      for (std::int64_t i = 0; i < own; ++i) to[i] = x[i] + zero;
    }
  }
}
GRADUAL_END_LOOPS

}  // namespace gradual::eager
