#pragma once
#include <gradual/autodiff/cpu/op_loops.hpp>
#include <gradual/autodiff/draw_of_node.hpp>
#include <gradual/eager/cpu/operands.hpp>

namespace gradual::eager {

GRADUAL_BEGIN_LOOPS

/// Calls loop(out, a, b, c, count) for chunks of a node's elements; missing operands repeat the first.
template <class T, class Loop>
void map_elements(CpuValues& values, const Tape& tape, int id, Loop loop) {
  const Node& node = tape[id];
  const int arity = node.op->arity;
  Storage converted[3];
  Operand<T> in[3];
  bool memory = true;
  const std::int64_t count = values.elements(node);
  std::int64_t step = chunk;
  for (int k = 0; k < arity; ++k) {
    in[k] = operand_of<T>(values, tape, node.in[k], converted[k]);
    memory = memory && in[k].data() != nullptr;
    step = step_of(step, in[k]);
  }
  const std::int64_t size = size_of(computed_in(node.dtype));
  const std::int64_t buffer = memory ? 0 : std::min(step, count);
  auto* const out = values.create<std::byte>(tape, id);
  values.share_out<T>(count * element_work, arity * buffer, [&](cpu::Part part, T* buffers) {
    const auto [first, last] = part.of(count, step);
    const std::int64_t together = memory ? last - first : step;
    OperandReader<T> a(in[0], step, buffers), b(in[1], step, buffers + buffer), c(in[2], step, buffers + 2 * buffer);
    for (std::int64_t at = first; at < last; at += together) {
      const std::int64_t here = std::min(together, last - at);
      const T* x = a.at(at, here);
      loop(out + at * size, x, arity > 1 ? b.at(at, here) : x, arity > 2 ? c.at(at, here) : x, here);
    }
  });
}

/// Runs an elementwise op; R is the type of its result. An op in no list runs through its scalar functor.
template <class R, class Known>
void run_elementwise(CpuValues& values, const Known& known, const Tape& tape, int id) {
  const Node& node = tape[id];
  const cpu::OpLoops& loops = known.of(*node.op);
  if (tape[node.in[node.op->arity - 1]].dtype == DType::i32) {
    return map_elements<std::int32_t>(values, tape, id, [&](void* out, auto* a, auto* b, auto* c, std::int64_t count) {
      cpu::run_map(*node.op, loops, static_cast<float*>(out), a, b, c, count);
    });
  }
  if constexpr (!std::is_same_v<R, std::int32_t>)
    map_elements<R>(values, tape, id, [&](void* out, const R* a, const R* b, const R* c, std::int64_t count) {
      cpu::run_map(*node.op, loops, static_cast<R*>(out), a, b, c, count);
    });
}

/// Returns the elements of a constant or another view.
template <class T>
Storage view_in_memory(CpuValues& values, const Tape& tape, int id) {
  Storage unused;
  const Operand<T> view = operand_of<T>(values, tape, id, unused);
  Storage storage = values.device().allocate(bytes_of(tape[id].shape, values.batch(), dtype_of<T>));
  view.write(0, values.elements(tape[id]), storage.as<T>());
  return storage;
}

/// Returns the rows of several uses, which sums over the batch read in place, but derivatives of such sums do not.
template <class T>
Storage uses_in_memory(CpuValues& values, const Tape& tape, int id) {
  const Node& node = tape[id];
  const T *first = values.read<T>(tape, node.in[0]), *rest = values.read<T>(tape, node.in[1]);
  const std::int64_t own = tape[node.in[0]].shape.unit(), others = tape[node.in[1]].shape.unit();
  Storage storage = values.device().allocate(bytes_of(node.shape, values.batch(), dtype_of<T>));
  T* to = storage.as<T>();
  for (std::int64_t s = 0; s < values.batch(); ++s)
    to = std::copy_n(rest + s * others, others, std::copy_n(first + s * own, own, to));
  return storage;
}

/// Computes what a random op draws.
template <class T>
void draw(CpuValues& values, const Randomness& random, const Tape& tape, int id) {
  const Node& node = tape[id];
  const std::int64_t unit = node.shape.unit();
  T* const out = values.create<T>(tape, id);
  gradual::detail::with_draw<T>(node, random.on, [&](auto drawn) {
    values.share_out<T>(values.elements(node) * element_work, 0, [&](cpu::Part part, T*) {
      const bool batched = node.shape.batched();
      const auto [first, last] = part.of(batched ? values.batch() : 1);
      for (std::int64_t sample = first; sample < last; ++sample) {
        const std::uint64_t key = random.key(node.attributes.integer[0], batched, sample);
        T* const row = out + sample * unit;
        GRADUAL_IVDEP
        for (std::int64_t i = 0; i < unit; ++i) row[i] = drawn(key, static_cast<std::uint32_t>(i));
      }
    });
  });
}

GRADUAL_END_LOOPS

}  // namespace gradual::eager
