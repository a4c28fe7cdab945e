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

/// The key of a sum of values padded with zeros along one axis is a sum too, of what each of them has at its place: eager tapes
/// add them up in pairs.
constexpr ValueKey key_of(const Tape& tape, const Node& node) {
  const auto operand = [&](int k) -> const ValueKey& { return tape.keys[static_cast<std::size_t>(node.in[k])]; };
  if (is<Convert>(node) && tape[node.in[0]].dtype == DType::u8) return operand(0);
  if (is<Pad>(node) && node.attributes.number == 0) {
    const auto [axis, before] = node.attributes.integer;
    const bool padded = operand(0).axis == axis;
    const std::uint64_t kind = static_cast<std::uint64_t>(axis) ^ std::bit_cast<std::uint64_t>(node.attributes.number);
    return {(padded ? operand(0).hash : mix(operand(0).hash, kind)) * key_of_place(before), static_cast<int>(axis)};
  }
  if (is<Add>(node) && operand(0).axis >= 0 && operand(0).axis == operand(1).axis)
    return {operand(0).hash + operand(1).hash, operand(0).axis};
  const bool bytes = node.dtype == DType::u8;  // are floats to the model, and have the keys of floats
  std::uint64_t hash = static_cast<std::uint64_t>(bytes ? DType::f32 : node.dtype);
  for (const char* c = node.op->name; *c != 0; ++c) hash = mix(hash, static_cast<unsigned char>(*c));
  for (int i = 0; i < node.shape.rank; ++i) hash = mix(hash, static_cast<std::uint64_t>(node.shape.extent[i]));
  hash = mix(hash, static_cast<std::uint64_t>(node.shape.batch_axis));
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
  return tape.keys[static_cast<std::size_t>(id)].hash;
}

}  // namespace gradual
