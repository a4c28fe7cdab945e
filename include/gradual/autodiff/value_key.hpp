#pragma once
#include <bit>
#include <cstdint>

#include <gradual/autodiff/ops/add.hpp>
#include <gradual/autodiff/ops/input.hpp>
#include <gradual/autodiff/ops/pad.hpp>

namespace gradual {

namespace detail {
constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t more) {
  hash = (hash ^ more) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 32;
}

/// Returns what a number is multiplied by when its place is moved by `places`.
constexpr std::uint64_t key_of_place(std::int64_t places) {
  std::uint64_t result = 1;
  for (std::uint64_t factor = 0x9e3779b97f4a7c15u; places > 0; places >>= 1, factor *= factor)
    if (places & 1) result *= factor;
  return result;
}

constexpr std::uint64_t mix(std::uint64_t hash, const Shape& shape) {
  for (int i = 0; i < shape.rank; ++i) hash = mix(hash, static_cast<std::uint64_t>(shape.extent[i]));
  return mix(hash, static_cast<std::uint64_t>(shape.batch_axis));
}

/// The key of a sum in which values are padded with zeros along one axis is a sum too, of what each of them has at its place:
/// eager tapes add them up in pairs.
constexpr ValueKey key_of(const Tape& tape, const Node& node) {
  const auto operand = [&](int k) -> const ValueKey& { return tape.keys[static_cast<std::size_t>(node.in[k])]; };
  if (is<Convert>(node) && tape[node.in[0]].dtype == DType::u8) return operand(0);
  const auto term = [&](int k, int axis) {
    return operand(k).axis == axis ? operand(k).hash : mix(operand(k).hash, static_cast<std::uint64_t>(axis));
  };
  if (is<Pad>(node) && node.attributes.number == 0) {
    const int axis = static_cast<int>(node.attributes.integer[0]);
    return {term(0, axis) * key_of_place(node.attributes.integer[1]), axis};
  }
  if (is<Add>(node)) {
    const int a = operand(0).axis, b = operand(1).axis, axis = a < b ? b : a;
    if (axis >= 0 && (a == b || a < 0 || b < 0)) return {term(0, axis) + term(1, axis), axis};
  }
  const bool bytes = node.dtype == DType::u8;  // are floats to the model, and have the keys of floats
  std::uint64_t hash = static_cast<std::uint64_t>(bytes ? DType::f32 : node.dtype);
  for (const char* c = node.op->name; *c != 0; ++c) hash = mix(hash, static_cast<unsigned char>(*c));
  hash = mix(hash, node.shape);
  const bool input = node.op->kind == Kind::input;  // which sample or scalar it is may depend on the order of recording
  const bool numbered = !input || node.attributes.integer[1] == Input::parameter;
  if (numbered) hash = mix(hash, static_cast<std::uint64_t>(node.attributes.integer[0]));
  hash = mix(hash, static_cast<std::uint64_t>(node.attributes.integer[1]));
  hash = mix(hash, std::bit_cast<std::uint64_t>(node.attributes.number));
  for (int k = 0; k < node.op->arity; ++k) hash = mix(hash, operand(k).hash);
  return {hash};
}
}  // namespace detail

/// Returns a number that depends on how a value is computed, not on when: it is the same in whatever order a compiler evaluates
/// the operands of an expression, which may differ between tracing and run time.
constexpr std::uint64_t value_key(Tape& tape, int id) {
  for (int i = static_cast<int>(tape.keys.size()); i <= id; ++i) tape.keys.push_back(detail::key_of(tape, tape[i]));
  const ValueKey& key = tape.keys[static_cast<std::size_t>(id)];
  return key.axis < 0 ? key.hash : detail::mix(key.hash, tape[id].shape);  // sums of paddings have no shape yet
}

}  // namespace gradual
