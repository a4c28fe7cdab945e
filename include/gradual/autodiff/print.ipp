#pragma once
#include <gradual/autodiff/print.hpp>

#include <locale>
#include <ostream>
#include <sstream>

#include <gradual/autodiff/draw_of_node.hpp>
#include <gradual/autodiff/ops/conv2d.hpp>
#include <gradual/autodiff/ops/input.hpp>
#include <gradual/autodiff/ops/max_pool2d.hpp>
#include <gradual/autodiff/ops/transpose.hpp>

namespace gradual::detail {

inline void print_convolution(std::ostream& out, const Convolution& c) {
  const auto two = [&](const char* what, std::int64_t y, std::int64_t x, std::int64_t usual) {
    if (y != usual || x != usual) out << " " << what << " " << y << " x " << x;
  };
  two("stride", c.y.stride, c.x.stride, 1);
  two("spread", c.y.spread, c.x.spread, 1);
  two("padding", c.y.before, c.x.before, 0);
  two("dilation", c.y.dilation, c.x.dilation, 1);
  if (c.groups != 1) out << " in " << c.groups << " groups";
  if (c.flipped) out << " (weights flipped)";
}

/// Prints what describes an op apart from its operands: a number, axes, the index of an input.
inline void print_attributes(std::ostream& out, const Tape& tape, const Node& node) {
  const std::int64_t first = node.attributes.integer[0];
  switch (node.op->kind) {
    case Kind::input:
      if (is_input(node, Input::parameter))
        out << " '" << tape.parameters[static_cast<std::size_t>(first)].name.view() << "'";
      else out << (is_input(node, Input::scalar) ? " scalar " : " ") << first;
      break;
    case Kind::constant: out << " " << node.attributes.number; break;
    case Kind::iota: out << " along axis " << first; break;
    case Kind::random:
      out << " " << first % 10000;
      if (draws_of(node) == Draws::mask) out << " at rate " << node.attributes.number;
      break;
    case Kind::transpose:
      out << " to (";
      for (int i = 0; i < node.shape.rank; ++i) out << (i > 0 ? ", " : "") << Transpose::source_axis(node.attributes, i);
      out << ")";
      break;
    case Kind::slice: out << " along axis " << first << " from " << node.attributes.integer[1]; break;
    case Kind::pad:
      out << " along axis " << first << " with " << node.attributes.number << ", " << node.attributes.integer[1] << " before";
      break;
    case Kind::contract:
      if (first != 0) out << (first == 1 ? " (left transposed)" : first == 2 ? " (right transposed)" : " (both transposed)");
      break;
    case Kind::convolve:
    case Kind::batch_convolve:
      print_convolution(out, convolution_of(node, tape[node.in[0]].shape, tape[node.in[1]].shape));
      break;
    case Kind::pool: {
      const Pooling p = recorded_pooling(tape.nodes.data(), node);
      out << " of " << p.y.kernel << " x " << p.x.kernel << " stride " << p.y.stride;
      if (p.x.stride != p.y.stride) out << " x " << p.x.stride;
      break;
    }
    case Kind::row_reduce: out << " of the last " << first << (first == 1 ? " axis" : " axes"); break;
    case Kind::batch_reduce: out << " of the first " << first << (first == 1 ? " axis" : " axes"); break;
    default: break;
  }
}

}  // namespace gradual::detail

namespace gradual {

GRADUAL_ONCE std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  Message text;
  text << shape;
  return out << text.view();
}

GRADUAL_ONCE std::ostream& operator<<(std::ostream& to, const Tape& tape) {
  std::ostringstream out;
  out.imbue(std::locale::classic());  // node numbers are names: digits must not be grouped
  static constexpr const char* roles[] = {"loss",       "weight",   "metric", "metric weight",
                                          "prediction", "gradient", "value"};
  for (int i = 0; i < tape.size(); ++i) {
    const Node& node = tape[i];
    out << "%" << i << " = " << node.op->name;
    for (int k = 0; k < node.op->arity; ++k) out << (k == 0 ? " %" : ", %") << node.in[k];
    detail::print_attributes(out, tape, node);
    Message shape;
    shape << node.shape;
    out << " : " << name_of(node.dtype) << shape.view() << "\n";
  }
  for (const Root& root : tape.roots) {
    out << roles[static_cast<int>(root.role)];
    if (root.role == Role::gradient) out << " '" << tape.parameters[static_cast<std::size_t>(root.index)].name.view() << "'";
    else if (root.role != Role::loss && root.role != Role::weight && root.role != Role::prediction) out << " " << root.index;
    out << " = %" << root.node << "\n";
  }
  return to << out.str();
}

}  // namespace gradual
