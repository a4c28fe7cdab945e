// The code of docs/guides/graphs.md: messages and attention along edges beside their formulas, in graphs of other sizes; forces
// beside differences.
#include <array>
#include <cmath>
#include <numbers>

#include "../documented.hpp"
#include "../error_of.hpp"
#include "../initial_parameters.hpp"
#include "../slope_of.hpp"

namespace documented_graphs_test {

using namespace documented;

struct Messages {  // along up to six edges between up to four nodes: from and to are i32[6], with -1 where there is no edge
  nn::Linear node, message, output;
  constexpr explicit Messages(Scope s)
      : node(s / "node", 2, 8), message(s / "message", 16, 8), output(s / "output", 8, 1) {}
  constexpr Var predict(Var x, Var present, Var from, Var to) const {
    Var h = tanh(node(x));
    for (int round = 0; round < 2; ++round) {
      const Var sent = tanh(message(concat({gather(h, from, -1), gather(h, to, -1)}, 2)));  // [6, 8]
      h += scatter_add(sent, to, 4, -1);  // each node's sum of what it was sent
    }
    return output(sum(where(reshape(present, Shape::per_sample({4, 1})) != 0.0, h, 0.0), {1}));
  }
  constexpr Loss loss(Var x, Var present, Var from, Var to, Var y) const { return {mse(predict(x, present, from, to), y)}; }
};

template <int Nodes, int Edges>
struct Attending {
  nn::Linear node, score, output;
  constexpr explicit Attending(Scope s)
      : node(s / "node", 3, 8), score(s / "score", 16, 1), output(s / "output", 8, 2) {}
  constexpr Var predict(Var x, Var present, Var from, Var to) const {
    const Var h = tanh(node(x)), sent = gather(h, from, -1);                           // [Edges, 8]
    const Var weight = exp(10.0 * tanh(score(concat({sent, gather(h, to, -1)}, 2))));  // [Edges, 1]
    const Var all = scatter_add(weight, to, Nodes, -1);                                // [Nodes, 1]
    const Var heard = scatter_add(weight * sent, to, Nodes, -1) / where(all > 0.0, all, 1.0);
    return output(sum(where(reshape(present, Shape::per_sample({Nodes, 1})) != 0.0, h + heard, 0.0), {1}));
  }
  constexpr Loss loss(Var x, Var present, Var from, Var to, Var label) const {
    return {cross_entropy(predict(x, present, from, to), label)};
  }
};
template <int Nodes, int Edges>
using AttendingNet = Compiled<Attending<Nodes, Edges>, Inputs<f32[Nodes][3], f32[Nodes], i32[Edges], i32[Edges], i32>>;

struct Cluster {  // of three atoms at x: their energy, and forces, which are minus its gradient; both are learned
  nn::Linear hidden, output;
  constexpr explicit Cluster(Scope s) : hidden(s / "hidden", 4, 8), output(s / "output", 8, 1) {}
  constexpr Var energy(Var x) const {
    const Var apart = reshape(x, Shape::per_sample({3, 1, 3})) - reshape(x, Shape::per_sample({1, 3, 3}));
    const Var r = norm(apart, {3}, true);  // [3, 3, 1]; of an atom by itself 0, with a gradient of 0
    std::vector<Var> near;                 // how much there is about so far away
    for (int k = 0; k < 4; ++k)
      near.push_back(where(iota(r, 1) == iota(r, 2), 0.0, exp(-4.0 * square(r - (0.5 + 0.5 * k)))));
    return sum(output(tanh(hidden(sum(concat(near, 3), {2})))), {1, 2});
  }
  constexpr Var predict(Var x) const {  // [batch, 1 + 9]
    const Var e = energy(x);
    return concat({reshape(e, Shape::per_sample({1})), flatten(-gradients(e, {x})[0])}, 1);
  }
  constexpr Loss loss(Var x, Var force, Var e) const {
    const Var both = predict(x);
    return {square(select(both, 1, 0) - e) + mse(slice(both, 1, 1, 9), flatten(force))};
  }
};

template <int Atoms, int Pairs>
struct Potential {  // of pairs nearer than 3, each of them both ways
  nn::Embedding kind;
  nn::Linear filter, in, hidden, output;
  constexpr explicit Potential(Scope s)
      : kind(s / "kind", 4, 8, {.padding_idx = 0}), filter(s / "filter", 6, 8), in(s / "in", 8, 8),
        hidden(s / "hidden", 8, 8), output(s / "output", 8, 1) {}
  constexpr Var energy(Var x, Var kinds, Var from, Var to) const {
    const Var r = norm(gather(x, from, -1) - gather(x, to, -1), {2}, true);              // [Pairs, 1]
    const Var cut = where(r < 3.0, 0.5 * (cos(r * (std::numbers::pi / 3)) + 1.0), 0.0);  // its slope at 3 is 0, too
    std::vector<Var> near;
    for (int k = 0; k < 6; ++k) near.push_back(exp(-4.0 * square(r - 0.5 * k)));
    const Var h = kind(kinds), sent = gather(in(h), from, -1) * filter(concat(near, 2)) * cut;
    const Var each = output(tanh(hidden(h + scatter_add(sent, to, Atoms, -1))));
    return sum(where(reshape(kinds, Shape::per_sample({Atoms, 1})) != 0, each, 0.0), {1, 2});
  }
  constexpr Var predict(Var x, Var kinds, Var from, Var to) const {  // [batch, 1 + 3 * Atoms]
    const Var e = energy(x, kinds, from, to);
    return concat({reshape(e, Shape::per_sample({1})), flatten(-gradients(e, {x})[0])}, 1);
  }
  constexpr Loss loss(Var x, Var kinds, Var from, Var to, Var force, Var e) const {
    const Var both = predict(x, kinds, from, to);
    return {square(select(both, 1, 0) - e) + mse(slice(both, 1, 1, 3 * Atoms), flatten(force))};
  }
};

using Edges = std::vector<std::int32_t>;

TEST(DocumentedGraphs, SendAlongEdgesThatThereAre) {
  using In = Inputs<f64[4][2], f64[4], i32[6], i32[6], f64[1]>;
  using Net = Compiled<Messages, In>;
  static_assert(trace_training<Messages>(In{}).error.empty());
  std::vector<double> parameters = initial_parameters<Net>(1);
  Inference<Net> net(parameters, 1);
  const auto at = [&](const char* name, std::size_t i) { return ParametersView<Net>(parameters.data())[name].values[i]; };
  const auto on_paper = [&](int nodes, const std::vector<double>& x, const std::vector<std::pair<int, int>>& edges) {
    std::vector<std::array<double, 8>> h(nodes);
    for (std::size_t n = 0; n < h.size(); ++n)
      for (std::size_t j = 0; j < 8; ++j)
        h[n][j] = std::tanh(x[2 * n] * at("node/weight", j) + x[2 * n + 1] * at("node/weight", 8 + j) + at("node/bias", j));
    for (int round = 0; round < 2; ++round) {
      auto next = h;
      for (const auto& [from, to] : edges)
        for (std::size_t j = 0; j < 8; ++j) {
          double sum = at("message/bias", j);
          for (std::size_t k = 0; k < 8; ++k)
            sum += h[from][k] * at("message/weight", 8 * k + j) + h[to][k] * at("message/weight", 8 * (8 + k) + j);
          next[to][j] += std::tanh(sum);
        }
      h = next;
    }
    double result = at("output/bias", 0);
    for (const auto& node : h)
      for (std::size_t j = 0; j < 8; ++j) result += node[j] * at("output/weight", j);
    return result;
  };
  const std::vector<double> x = {0.3, -0.8, -1.1, 0.4, 0.6, 0.2, 9, 9}, present = {1, 1, 1, 0};
  const std::vector<double> turned = {9, 9, 0.6, 0.2, 0.3, -0.8, -1.1, 0.4}, present_turned = {0, 1, 1, 1};
  std::vector<double> y(1), other(1);
  net(x, present, Edges{0, 1, 2, 2, -1, -1}, Edges{1, 2, 1, 1, -1, -1}, y);
  EXPECT_NEAR(y[0], on_paper(3, x, {{0, 1}, {1, 2}, {2, 1}, {2, 1}}), 1e-12);
  net(turned, present_turned, Edges{-1, 2, 3, 1, -1, 1}, Edges{-1, 3, 1, 3, -1, 3}, other);  // 0, 1, 2 are 2, 3, 1
  EXPECT_NEAR(y[0], other[0], 1e-14);
  EXPECT_EQ(error_of<DataError>([&] { net(x, present, Edges{0, 1, 2, 2, -1, 4}, Edges{1, 2, 1, 1, -1, -1}, y); }),
            "input 2, sample 0: index 5 is 4, outside the 4 places 0 to 3 and not the ignored -1");
}

TEST(DocumentedGraphs, AttendToWhatTheyAreSent) {
  Session small(AttendingNet<4, 6>{}, Accumulate{Adam{.learning_rate = 1e-2f}}, {.global_batch = 1, .seed = 1});
  const std::vector<float> x = {0.3f, -0.8f, 0.1f, -1.1f, 0.4f, 0.9f, 0.6f, 0.2f, -0.5f, 7, 7, 7}, present = {1, 1, 1, 0};
  const Edges from = {0, 1, 2, -1, 0, -1}, to = {1, 2, 1, -1, 2, -1};  // nothing is sent to 0
  const std::vector<std::int32_t> label = {1};
  const double before = small.losses(x, present, from, to, label)[0];
  for (int i = 0; i < 10; ++i) small.accumulate(x, present, from, to, label);
  EXPECT_LT(small.losses(x, present, from, to, label)[0], before);
  const std::vector<float> scores = small.predict(x, present, from, to);

  const auto at = [&](const char* name, std::size_t i) { return double{small.parameters()[name].values[i]}; };
  double h[3][8], heard[3][8]{}, all[3]{};
  for (std::size_t n = 0; n < 3; ++n)
    for (std::size_t j = 0; j < 8; ++j) {
      h[n][j] = at("node/bias", j);
      for (std::size_t k = 0; k < 3; ++k) h[n][j] += x[3 * n + k] * at("node/weight", 8 * k + j);
      h[n][j] = std::tanh(h[n][j]);
    }
  for (std::size_t e = 0; e < 6; ++e) {
    if (from[e] < 0) continue;
    double score = at("score/bias", 0);
    for (std::size_t j = 0; j < 8; ++j)
      score += h[from[e]][j] * at("score/weight", j) + h[to[e]][j] * at("score/weight", 8 + j);
    const double weight = std::exp(10 * std::tanh(score));
    all[to[e]] += weight;
    for (std::size_t j = 0; j < 8; ++j) heard[to[e]][j] += weight * h[from[e]][j];
  }
  for (std::size_t c = 0; c < 2; ++c) {
    double score = at("output/bias", c);
    for (std::size_t n = 0; n < 3; ++n)
      for (std::size_t j = 0; j < 8; ++j)
        score += (h[n][j] + (all[n] > 0 ? heard[n][j] / all[n] : 0)) * at("output/weight", 2 * j + c);
    EXPECT_NEAR(scores[c], score, 1e-5);
  }

  Inference<AttendingNet<24, 40>> large(small.parameters());  // of a session or trainer of AttendingNet<4, 6>
  std::vector<float> wide_x = x, wide_present = present, larger(2);
  Edges wide_from = from, wide_to = to;
  wide_x.resize(24 * 3), wide_present.resize(24), wide_from.resize(40, -1), wide_to.resize(40, -1);
  large(wide_x, wide_present, wide_from, wide_to, larger);
  for (std::size_t c = 0; c < 2; ++c) EXPECT_NEAR(larger[c], scores[c], 1e-6);
}

TEST(DocumentedGraphs, PushAtomsToLowerEnergies) {
  using Net = Compiled<Cluster, Inputs<f64[3][3], f64[3][3], f64>>;
  Session session(Net{}, Accumulate{Adam{}}, {.global_batch = 1, .seed = 1});
  Inference<Net> cluster(session.parameters(), 1);
  const std::vector<double> x = {0.1, -0.2, 0, 0.9, 0.3, -0.1, 0.2, 0.8, 0.7};
  std::vector<double> here(10), there(10);
  cluster(x, here);
  for (std::size_t i = 0; i < 9; ++i) {
    const double slope = slope_of([&](double by) {
      std::vector<double> moved = x;
      moved[i] += by;
      cluster(moved, there);
      return there[0];
    });
    EXPECT_NEAR(here[1 + i], -slope, 1e-11);
  }
  const std::vector<double> forces(9, 0.1), energy{-1};
  const double before = session.losses(x, forces, energy)[0];
  for (int i = 0; i < 50; ++i) session.accumulate(x, forces, energy);
  EXPECT_LT(session.losses(x, forces, energy)[0], before);
}

TEST(DocumentedGraphs, PushPairsThatAreNear) {
  using Net = Compiled<Potential<4, 6>, Inputs<f64[4][3], i32[4], i32[6], i32[6], f64[4][3], f64>>;
  Inference<Net> potential(initial_parameters<Net>(1));
  const std::vector<double> x = {0.1, -0.2, 0, 0.9, 0.3, -0.1, 0.8, 2.6, 1.2, 9, 9, 9};
  const std::vector<std::int32_t> kinds = {1, 3, 2, 0};
  const Edges from = {0, 1, 0, 2, 1, 2}, to = {1, 0, 2, 0, 2, 1};  // 0 and 2 are further apart than 3
  std::vector<double> here(13), there(13);
  potential(x, kinds, from, to, here);
  for (std::size_t i = 0; i < 12; ++i) {
    const double slope = slope_of([&](double by) {
      std::vector<double> moved = x;
      moved[i] += by;
      potential(moved, kinds, from, to, there);
      return there[0];
    });
    EXPECT_NEAR(here[1 + i], -slope, 1e-10);
    EXPECT_EQ(here[1 + i] == 0, i >= 9);
  }
  // Without the pair that is too far apart; its atoms with other numbers, and edges in another order.
  potential(x, kinds, Edges{0, 1, -1, -1, 1, 2}, Edges{1, 0, -1, -1, 2, 1}, there);
  EXPECT_EQ(there, here);
  potential(std::vector<double>{9, 9, 9, 0.8, 2.6, 1.2, 0.1, -0.2, 0, 0.9, 0.3, -0.1}, std::vector<std::int32_t>{0, 2, 1, 3},
            Edges{1, 3, 3, -1, 2, -1}, Edges{3, 2, 1, -1, 3, -1}, there);
  EXPECT_NEAR(there[0], here[0], 1e-14);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(there[1 + 3 + i], here[1 + 6 + i], 1e-13);
}

}  // namespace documented_graphs_test
