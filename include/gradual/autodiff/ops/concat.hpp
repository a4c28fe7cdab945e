#pragma once
#include <string>
#include <vector>

#include <gradual/autodiff/ops/add.hpp>
#include <gradual/autodiff/ops/joined_in_pairs.hpp>
#include <gradual/autodiff/ops/pad.hpp>

namespace gradual {

namespace detail {
/// Not constexpr, so that a compiler's error names this function; there is no tape that could hold the error.
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_no_parts(const char* op) {
  throw ShapeError(std::string(op) + ": there are no parts");
}
/// Returns a sum of parts padded with −0, to which any number can be added without changing a bit: kernels that read the result
/// read its parts, and each part's adjoint is a slice.
constexpr Var concat(const Var* parts, int count, int axis) {
  if (count == 0) refuse_no_parts("concat");
  if (!given("concat", parts, count)) return {};
  const Composite called("concat", parts[0]);
  const int at = inner_axis(parts[0], "concat", axis);
  if (at < 0) return {};
  Tape& tape = *parts[0].tape;
  std::int64_t extent = 0;
  for (int i = 0; i < count; ++i) {
    Shape other = parts[i].shape();
    if (at < other.rank) other.extent[at] = parts[0].shape().extent[at];
    if (!(other == parts[0].shape()))
      return tape.fail(Message() << "concat: " << parts[i].shape() << " and " << parts[0].shape()
                                 << " differ in more than axis " << axis, {parts[0], parts[i]});
    extent += parts[i].shape().extent[at];
  }
  if (tape.executor != nullptr && count >= least_pieces_in_pairs) return joined_in_pairs(parts, count, at, extent);
  Var whole;
  std::int64_t before = 0;
  for (int i = 0; i < count; ++i) {
    const std::int64_t own = parts[i].shape().extent[at];
    const Var part = pad(parts[i], at, before, extent - before - own, -0.0);
    whole = i == 0 ? part : whole + part;
    before += own;
  }
  return whole;
}

constexpr Var stack(std::vector<Var> parts, int axis) {
  if (parts.empty()) refuse_no_parts("stack");
  if (!given("stack", parts.data(), static_cast<int>(parts.size()))) return {};
  const Composite called("stack", parts[0]);
  for (Var& part : parts) {
    const Shape from = part.shape();
    const int at = from_front(axis, from.rank + 1);
    if (at < 0 || at > from.rank || from.rank == max_rank)
      return part.tape->fail(Message() << "stack: " << from << " cannot have a new axis " << axis, {part});
    Shape shape;
    for (int i = 0; i <= from.rank; ++i) {
      if (i == at) shape.extent[shape.rank++] = 1;
      if (i == from.rank) break;
      if (i == from.batch_axis) shape.batch_axis = shape.rank;
      shape.extent[shape.rank++] = from.extent[i];
    }
    part = reshape(part, shape);
  }
  return concat(parts.data(), static_cast<int>(parts.size()), axis);
}
}  // namespace detail

/// Puts values side by side along `axis` (negative: from the end). Errors: shapes that differ along another axis; an axis out
/// of range; the sample axis; integers; no parts.
constexpr Var concat(std::initializer_list<Var> parts, int axis = -1) {
  return detail::concat(parts.begin(), static_cast<int>(parts.size()), axis);
}
constexpr Var concat(const std::vector<Var>& parts, int axis = -1) {
  return detail::concat(parts.data(), static_cast<int>(parts.size()), axis);
}

/// Puts values of one shape side by side along a new axis, which is `axis` in the result. Errors: those of `concat`.
constexpr Var stack(std::initializer_list<Var> parts, int axis = -1) {
  return detail::stack(std::vector<Var>(parts), axis);
}
constexpr Var stack(const std::vector<Var>& parts, int axis = -1) { return detail::stack(parts, axis); }

}  // namespace gradual
