// The table of a net's kernels, and a tape as a graph.
#include <gtest/gtest.h>

#include <gradual/gradual.hpp>

namespace explain_test {

using namespace gradual;

struct Small {
  nn::Linear layer;
  constexpr explicit Small(Scope s) : layer(s / "layer", 3, 2) {}
  constexpr Loss loss(Var x, Var y) const { return {mse(tanh(layer(x)), y)}; }
};
using Net = Compiled<Small, Inputs<f32[3], f32[2]>>;

TEST(Explain, TellsWhatEachKernelComputesAndMoves) {
  EXPECT_EQ(
      explain<Net>(),
      "kernel  phase          computes                                        layer              FLOP      bytes      saved\n"
      "     0  forward        matmul                                          layer                12         20\n"
      "     1  forward        add tanh subtract multiply sum                  layer                10         36         16\n"
      "     2  forward        divide                                          layer                 1          8\n"
      "     3  backward       strong_divide                                   layer                 1          4\n"
      "     4  backward       multiply add multiply subtract multiply +1      layer                12         28\n"
      "     5  backward       batch_matmul                                    layer                12         20\n"
      "                       for each sample                                                      48        116         16\n");
}

/// Has no loss.
struct Slope {
  constexpr explicit Slope(Scope) {}
  constexpr Var predict(Var x) const { return gradients(sum(tanh(x), {1}), {x})[0]; }
};

TEST(Explain, TellsWhatAPredictionComputes) {
  EXPECT_EQ(
      (explain_prediction<Compiled<Slope, Inputs<f32[3]>>>()),
      "kernel  phase          computes                                        layer              FLOP      bytes      saved\n"
      "     0  forward        tanh multiply subtract                                                9         24\n"
      "                       for each sample                                                       9         24\n");
}

/// Declares its layers in a different order than it uses them.
struct Reversed {
  nn::Linear last, first;
  constexpr explicit Reversed(Scope s) : last(s / "last", 4, 2), first(s / "first", 3, 4) {}
  constexpr Loss loss(Var x, Var y) const { return {mse(last(tanh(first(x))), y)}; }
};

TEST(Explain, NamesTheLayerThatAnOpBelongsToInBothDirections) {
  const auto& graph = Compiled<Reversed, Inputs<f32[3], f32[2]>>::Training::graph;
  std::string layers;
  for (const Node& node : graph.nodes)
    if (node.op->kind == Kind::contract || node.op->kind == Kind::batch_contract || is<Tanh>(node) || is<Sum>(node))
      layers += std::string(node.op->name) + " " + std::string(layer_name(node, graph.parameters)) + "\n";
  EXPECT_EQ(layers, "matmul first\ntanh first\nmatmul last\nsum last\nbatch_matmul last\nmatmul last\nbatch_matmul first\n");
}

/// Four steps of a sequence.
struct Steps {
  Parameter scale;
  constexpr explicit Steps(Scope s) : scale(s.parameter("scale", Shape{4, 3}, {})) {}
  constexpr Loss loss(Var x) const {
    const Var y = x * scale;
    Var h = select(y, 1, 0);
    for (int t = 1; t < 4; ++t) h = tanh(h) * select(y, 1, t);
    return Loss(sum(h, {1}));
  }
};

TEST(Explain, SlicesMoveTheirOwnBytesAndAreAddedTogether) {
  using StepsNet = Compiled<Steps, Inputs<f32[4][3]>>;
  EXPECT_EQ(
      explain<StepsNet>(),
      "kernel  phase          computes                                        layer              FLOP      bytes      saved\n"
      "     0  forward        multiply                                        scale                12         96\n"
      "     1  forward        slice tanh slice multiply tanh +6               scale                21         88         72\n"
      "     2  backward       multiply subtract multiply multiply multiply +  scale                39        108\n"
      "     3  backward       add add add multiply batch_sum                  scale                60         96\n"
      "                       for each sample                                                     132        388         72\n");
}

/// One operand per statement: compilers order the operands of an expression differently.
struct Product {
  Parameter weight;
  constexpr explicit Product(Scope s) : weight((s / "layer").parameter("weight", Shape{3}, {})) {}
  constexpr Loss loss(Var x) const {
    const Var w = weight.on(x);
    const Var y = x * w;
    return {sum(y, {1})};
  }
};

TEST(Dot, DrawsATape) {
  EXPECT_EQ(graphviz(trace_training<Product>(Inputs<f32[3]>{})),
            "digraph tape {\n"
            "  n0 [label=\"input\\n[batch, 3]\" shape=box];\n"
            "  n1 [label=\"layer/weight\\n[3]\" shape=box];\n"
            "  n2 [label=\"broadcast\\n[batch, 3]\"];\n"
            "  n1 -> n2;\n"
            "  n3 [label=\"multiply\\n[batch, 3]\"];\n"
            "  n0 -> n3;\n"
            "  n2 -> n3;\n"
            "  n4 [label=\"sum\\n[batch]\" peripheries=2];\n"
            "  n3 -> n4;\n"
            "  n5 [label=\"constant\\n[batch]\" color=grey];\n"
            "  n6 [label=\"reshape\\n[batch, 1]\" color=grey];\n"
            "  n5 -> n6;\n"
            "  n7 [label=\"broadcast\\n[batch, 3]\" color=grey];\n"
            "  n6 -> n7;\n"
            "  n8 [label=\"multiply\\n[batch, 3]\" color=grey];\n"
            "  n7 -> n8;\n"
            "  n2 -> n8;\n"
            "  n9 [label=\"multiply\\n[batch, 3]\" color=grey];\n"
            "  n7 -> n9;\n"
            "  n0 -> n9;\n"
            "  n10 [label=\"batch_sum\\n[3]\" peripheries=2 color=grey];\n"
            "  n9 -> n10;\n"
            "}\n");
}

}  // namespace explain_test
