#pragma once
#include <bit>
#include <cstdint>

#include <gradual/autodiff/ops/input.hpp>

namespace gradual {

namespace detail {
constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t more) {
  hash = (hash ^ more) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 32;
}

constexpr std::uint64_t key_of(const Tape& tape, const Node& node) {
  if (is<Convert>(node) && tape[node.in[0]].dtype == DType::u8) return tape.keys[static_cast<std::size_t>(node.in[0])];
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
  for (int k = 0; k < node.op->arity; ++k) hash = mix(hash, tape.keys[static_cast<std::size_t>(node.in[k])]);
  return hash;
}
}  // namespace detail

/// Returns a number that depends on how a value is computed, not on when: it is the same in whatever order a compiler evaluates
/// the operands of an expression, which may differ between tracing and run time.
constexpr std::uint64_t value_key(Tape& tape, int id) {
  for (int i = static_cast<int>(tape.keys.size()); i <= id; ++i) tape.keys.push_back(detail::key_of(tape, tape[i]));
  return tape.keys[static_cast<std::size_t>(id)];
}

}  // namespace gradual
