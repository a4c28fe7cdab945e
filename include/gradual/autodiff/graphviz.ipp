#pragma once
#include <gradual/autodiff/graphviz.hpp>

#include <gradual/autodiff/ops/input.hpp>

namespace gradual::detail {

/// Escapes a text for a quoted string in Graphviz's language.
inline std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

}  // namespace gradual::detail

namespace gradual {

GRADUAL_ONCE std::string graphviz(const Tape& tape) {
  std::string text = "digraph tape {\n";
  for (int i = 0; i < tape.size(); ++i) {
    const Node& node = tape[i];
    const std::string label =
        detail::escaped(is_input(node, Input::parameter)
                            ? tape.parameters[static_cast<std::size_t>(node.attributes.integer[0])].name.view()
                            : std::string_view(node.op->name)) +
        (Message() << "\\n" << node.shape).string();
    bool is_root = false;
    for (const Root& root : tape.roots) is_root |= root.node == i;
    const std::string name = "  n" + std::to_string(i);
    text += name + " [label=\"" + label + "\"" + (node.op->kind == Kind::input ? " shape=box" : "") +
            (is_root ? " peripheries=2" : "") + (tape.first_adjoint >= 0 && i >= tape.first_adjoint ? " color=grey" : "") +
            "];\n";
    for (int k = 0; k < node.op->arity; ++k) text += "  n" + std::to_string(node.in[k]) + " -> n" + std::to_string(i) + ";\n";
  }
  return text + "}\n";
}

}  // namespace gradual
