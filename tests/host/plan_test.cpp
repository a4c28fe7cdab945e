// The memory plan: values never overlap while both are needed, the bytes are close to the lower bound and never fall when
// the batch grows. For the examples' nets, and for 200 random programs through the passes at run time.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <gradual/autodiff/reference.hpp>
#include <gradual/autodiff/repeats.hpp>
#include <memory>
#include <random>

#include "../../examples/01-digits/model.hpp"
#include "../../examples/02-regression/model.hpp"
#include "../../examples/03-own-op/model.hpp"
#include "../../examples/06-convolutions/model.hpp"
#include "../../examples/07-memory/model.hpp"
#include "../../examples/08-gan/models.hpp"
#include "../../examples/09-memory-by-hand/model.hpp"
#include "../../examples/10-forecast/model.hpp"
#include "../../examples/11-characters/model.hpp"
#include "../models.hpp"

namespace plan_test {

using namespace models;

/// Plans the transient block of a graph, by the same steps as `Program`.
template <Counts C>
TransientPlan<C.nodes> plan_transient(const Graph<C>& graph, const Schedule<C.nodes>& schedule) {
  TransientPlan<C.nodes> plan{find_lifetimes(graph, schedule)};
  for (int k = 0; k < layout_count; ++k) plan.layouts[k] = find_layout<C.nodes>(plan, reference_batches[k]);
  return plan;
}

/// The nets of the benchmarks.
struct Tiny {
  nn::Linear a, b, c;
  constexpr explicit Tiny(Scope s) : a(s / "layer0", 2, 16), b(s / "layer1", 16, 16), c(s / "layer2", 16, 1) {}
  constexpr Loss loss(Var x, Var y) const { return {mse(c(tanh(b(tanh(a(x))))), y)}; }
};
template <int A, int B, int C, int D>
struct Wide {
  nn::Linear a, b, c;
  constexpr explicit Wide(Scope s) : a(s / "layer0", A, B), b(s / "layer1", B, C), c(s / "layer2", C, D) {}
  constexpr Loss loss(Var x, Var label) const { return {cross_entropy(c(relu(b(relu(a(x))))), label)}; }
};

/// Returns a random net with its gradients: layers of random widths, computed weights, functions, sums over rows, values
/// that are read again much later, dropout of values and weights, and a penalty.
Tape random_program(unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const auto width = [&] { return 1 + below(4) * below(60) + below(40); };
  Tape tape;
  const Scope scope(tape.parameters);
  Var x = input(tape, Shape::per_sample({width()}), DType::f32), term;
  std::vector<Var> kept{x};
  const int layers = 3 + below(14);
  for (int i = 0; i < layers; ++i) {
    Message name;
    name << "layer" << i;
    const Scope here = scope / name.view();
    const std::int64_t in = x.shape().extent[1];
    switch (below(10)) {
      case 0:
      case 1:
      case 2:
        x = nn::Linear(here, in, width())(x);
        break;
      case 3:
        x = relu(x);
        break;
      case 4:
        x = tanh(x) * sigmoid(x);
        break;
      case 5:
        x = x - broadcast(mean(x, {-1}, true), x.shape());
        break;
      case 6:
        x = exp(log_softmax(x));
        break;
      case 7: {
        const Var earlier = kept[static_cast<std::size_t>(below(static_cast<int>(kept.size())))];
        x = x + (earlier.shape() == x.shape() ? earlier : nn::Linear(here, earlier.shape().extent[1], in)(earlier));
        break;
      }
      case 8: {
        const Var weight = here.parameter("weight", Shape{in, width()}, init::uniform(1)).on(x);
        x = matmul(x, tanh(dropout(weight, 0.2)));
        if (!term.valid()) term = sum(exp(weight) * weight, {0, 1});
        break;
      }
      default:
        x = dropout(x, 0.3);
        break;
    }
    kept.push_back(x);
  }
  Loss loss(mean(x * x, {-1}));
  if (term.valid()) loss = loss.plus(term);
  BackwardSpace space;
  record_gradients(tape, loss, space);
  return simplify(tape);
}

/// Returns a tape as a graph of fixed size, padded with constants that nothing reads and with copies of its first root.
template <Counts C>
std::unique_ptr<Graph<C>> padded(const Tape& tape) {
  EXPECT_LE(tape.size(), C.nodes);
  EXPECT_LE(tape.roots.size(), std::size_t{C.roots});
  auto graph = std::make_unique<Graph<C>>();
  for (int i = 0; i < C.nodes; ++i)
    if (i < tape.size())
      graph->nodes[i] = tape[i];
    else
      graph->nodes[i].op = &op_info<Constant>;
  for (int i = 0; i < C.roots; ++i)
    graph->roots[i] = tape.roots[static_cast<std::size_t>(i) < tape.roots.size() ? static_cast<std::size_t>(i) : 0];
  graph->first_adjoint = tape.first_adjoint;
  return graph;
}

template <int N>
double ratio(const TransientPlan<N>& plan, std::int64_t batch) {
  return static_cast<double>(plan.bytes(batch)) / static_cast<double>(plan.lower_bound(batch));
}

constexpr std::int64_t larger[] = {511, 1024, 1025, 4096, 10'000, 1 << 20};

/// Returns whether all values are aligned, no two that are alive at the same time overlap, and the block ends where the
/// highest value ends.
template <int N>
bool valid(const TransientPlan<N>& plan, std::int64_t batch) {
  std::int64_t offset[N + 1]{}, top = 0;
  const std::int64_t bytes = plan.offsets(batch, offset);
  for (int a = 0; a < plan.count; ++a) {
    const std::int64_t end = offset[a] + plan.lifetimes[a].bytes(batch);
    top = std::max(top, end);
    if (offset[a] % alignment != 0) return false;
    for (int b = 0; b < a; ++b)
      if (plan.lifetimes[a].meets(plan.lifetimes[b]) && offset[b] < end &&
          offset[a] < offset[b] + plan.lifetimes[b].bytes(batch))
        return false;
  }
  return top == bytes;
}

/// The worst ratio to the lower bound: at the reference batches, and at any other.
struct Worst {
  double at_references = 1, between = 1;
};
template <int N>
Worst examine(const TransientPlan<N>& plan) {
  Worst worst;
  for (const std::int64_t batch : reference_batches)
    worst.at_references = std::max(worst.at_references, ratio(plan, batch));
  std::int64_t before = 0;
  const auto look = [&](std::int64_t batch) {
    const std::int64_t bytes = plan.bytes(batch);
    EXPECT_LE(before, bytes) << "bytes fall at batch " << batch;
    EXPECT_GE(bytes, plan.lower_bound(batch)) << batch;
    before = bytes;
    worst.between = std::max(worst.between, ratio(plan, batch));
  };
  for (std::int64_t batch = 1; batch <= 260; ++batch) look(batch);
  for (const std::int64_t batch : larger) look(batch);
  for (const std::int64_t batch : {1, 2, 3, 7, 16, 64, 100, 255, 1024, 4096}) EXPECT_TRUE(valid(plan, batch)) << batch;
  EXPECT_LE(worst.at_references, 1.05);
  EXPECT_LE(worst.between, 1.15);
  return worst;
}

/// Examines the plan of a training step of the model, made at run time.
template <class Model, class Samples>
Worst examine_model() {
  constexpr Counts capacity{1000, 0, 0, 40};
  const Tape tape = simplify(trace_training<Model>(Samples{}));
  EXPECT_TRUE(tape.error.empty()) << tape.error.view();
  const auto graph = padded<capacity>(tape);
  return examine(plan_transient(*graph, fuse(*graph)));
}

TEST(Plan, OfTheExamplesIsCloseToTheLowerBound) {
  const auto show = [](const char* name, const Worst& worst) {
    std::printf("%-22s %.4f %.4f\n", name, worst.at_references, worst.between);
  };
  std::printf("planned bytes over the largest sum of live bytes, at most\n%-22s %-6s %-6s\n", "", "refs", "any");
  show("01 digits 64-128-10", examine(digits::Net::Training::plan));
  show("   its inference", examine(digits::Net::Prediction::plan));
  show("02 regression", examine_model<regression::Regression, Inputs<f32[regression::inputs], f32[1]>>());
  show("03 own op", examine_model<spirals::Spirals, Inputs<f32[2], i32>>());
  show("06 convolutions", examine_model<convolutions::Convolutional, Inputs<f32[1][8][8], i32>>());
  show("07 deep", examine_model<deep::Deep, Inputs<f32[64], i32>>());
  show("08 discriminator", examine_model<gan::Judge, Inputs<f32[gan::pixels], f32[1]>>());
  show("   generator", examine_model<gan::Forger, Inputs<f32[gan::noise]>>());
  show("09 spectrogram", examine_model<spectrogram::Spectrogram, Inputs<f32[1][180][50], i32>>());
  show("10 forecast", examine_model<forecasts::Forecast, Inputs<f32[forecasts::steps][1], f32[1]>>());
  show("11 characters", examine_model<characters::Writer, Inputs<i32[characters::length], i32[characters::length]>>());
  show("2-16-16-1", examine_model<Tiny, Inputs<f32[2], f32[1]>>());
  show("784-256-128-10", examine_model<Wide<784, 256, 128, 10>, Inputs<f32[784], i32>>());
  show("1024-1024-1024-10", examine_model<Wide<1024, 1024, 1024, 10>, Inputs<f32[1024], i32>>());
  show("classifier", examine(ClassifierNet::Training::plan));
  show("with dropout", examine_model<Dropped, Inputs<f32[9], i32>>());
  show("tied weights", examine_model<Tied, Inputs<f32[4], f32[4]>>());
  show("weighted regression", examine_model<WeightedRegression, Inputs<f32[4], f32[3], f32>>());
  show("sequence", examine_model<Sequence, Inputs<f32[3][6], f32[3][2]>>());
}

TEST(Plan, HoldsNoDerivativesBesideActivations) {
  using Net = Compiled<Wide<32, 32, 32, 4>, Inputs<f32[32], i32>>;
  // Two activations, the gradient of the later one in its place; the gradient of the earlier; that of the scores; the loss.
  EXPECT_EQ(Net::Training::plan.bytes(16), 16 * 4 * (3 * 32 + 4 + 1));
}

TEST(Plan, OfRandomProgramsIsCloseToTheLowerBoundAndMonotone) {
  constexpr Counts capacity{320, 0, 0, 40};
  Worst worst;
  int most = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    const Tape tape = random_program(seed);
    const auto graph = padded<capacity>(tape);
    const auto plan = plan_transient(*graph, fuse(*graph));
    if (plan.count == 0) continue;
    SCOPED_TRACE(seed);
    const Worst here = examine(plan);
    worst = {std::max(worst.at_references, here.at_references), std::max(worst.between, here.between)};
    most = std::max(most, tape.size());
  }
  std::printf("200 random programs of up to %d nodes: %.4f at the reference batches, %.4f at any\n", most,
              worst.at_references, worst.between);
  EXPECT_GT(most, 100);
}

/// Returns lifetimes unlike those of any program: many at once, and some of 0 bytes, which overlap nothing.
template <int N>
std::unique_ptr<TransientPlan<N>> random_lifetimes(unsigned seed, int count) {
  std::mt19937 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  auto plan = std::make_unique<TransientPlan<N>>();
  plan->count = count;
  const int kernels = 1 + below(200), empty = seed % 2 == 0 ? 20 : 1 << 20;
  const auto lifetimes = std::span(plan->lifetimes, static_cast<std::size_t>(count));
  for (Lifetime& life : lifetimes) {
    life.begin = below(kernels);
    life.end = std::min(kernels, life.begin + below(below(3) == 0 ? kernels : 5));
    life.unit = below(empty) == 0 ? 0 : 4 * (1 + below(500)) * (below(4) == 0 ? 1 + below(20) : 1);
    life.batched = below(3) > 0;
  }
  std::ranges::stable_sort(lifetimes, {}, &Lifetime::begin);
  return plan;
}

TEST(Plan, OfRandomLifetimesKeepsThoseApartThatMeet) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const auto plan = random_lifetimes<300>(seed, 1 + static_cast<int>(seed * 7 % 300));
    for (int k = 0; k < layout_count; ++k) plan->layouts[k] = find_layout<300>(*plan, reference_batches[k]);
    for (const std::int64_t batch : {1, 5, 16, 77, 1024, 5000}) EXPECT_TRUE(valid(*plan, batch)) << seed << ", " << batch;
  }
}

/// So many are placed only once, each at the lowest offset that is free when it begins.
TEST(Plan, OfManyLifetimesIsFirstFitInOrderOfBirth) {
  constexpr int many = 400;
  constexpr std::int64_t batch = 16;
  for (unsigned seed = 0; seed < 50; ++seed) {
    const auto plan = random_lifetimes<many>(seed, many);
    for (Layout<many>& layout : plan->layouts) layout = find_layout<many>(*plan, batch);
    std::int64_t offset[many];
    plan->offsets(batch, offset);
    const auto bytes = [&](int i) { return plan->lifetimes[i].bytes(batch); };
    for (int i = 0; i < many; ++i) {
      std::int64_t lowest = 0;
      const auto in_the_way = [&](int j) {
        return plan->lifetimes[j].meets(plan->lifetimes[i]) && offset[j] < lowest + bytes(i) && lowest < offset[j] + bytes(j);
      };
      for (int j = 0; j < i;) j = in_the_way(j) ? (lowest = offset[j] + bytes(j), 0) : j + 1;
      EXPECT_EQ(offset[i], lowest) << seed << ", " << i;
    }
  }
}

TEST(Lifetimes, AreTakenOverByWhatReadsTheSameElementsAlone) {
  const auto takes_over = [](auto f) {
    Tape tape;
    const Var x = input(tape, Shape::per_sample({4, 4}), DType::f32), w = input(tape, Shape{4, 4}, DType::f32);
    const Var product = matmul(x, w), y = f(product), loss = sum(matmul(y, w), {1, 2});
    tape.roots.push_back({Role::loss, 0, loss.id});
    tape.first_adjoint = tape.size();
    const auto graph = padded<Counts{20, 0, 0, 1}>(tape);
    const auto schedule = fuse(*graph);
    const auto found = find_lifetimes(*graph, schedule);
    const auto lifetime_of = [&](Var v) { return found.lifetime_of[schedule.storage[v.id]]; };
    EXPECT_EQ(found.lifetimes[lifetime_of(loss)].end, schedule.group_count) << "read when all is done";
    EXPECT_GE(std::min(lifetime_of(product), lifetime_of(y)), 0);
    return lifetime_of(y) == lifetime_of(product);
  };
  EXPECT_TRUE(takes_over([](Var v) { return tanh(v); }));
  EXPECT_FALSE(takes_over([](Var v) { return v + transpose(v, {0, 2, 1}); }));
}

TEST(Recompute, GivesTheBitsOfTheReferenceInLessMemory) {
  constexpr Counts capacity{1000, 0, 0, 40};
  constexpr std::int64_t batch = 5;
  int less = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    const Tape tape = random_program(seed);
    std::vector<std::vector<float>> parameters;
    for (const ParameterInfo& info : tape.parameters)
      parameters.push_back(numbers(static_cast<std::size_t>(info.shape.unit()), seed + 1));
    const std::vector<std::vector<float>> samples{
        numbers(static_cast<std::size_t>(tape.inputs[0].shape.elements(batch)), seed)};
    const Randomness random{true, seed, 1, nullptr, 0};
    const Reference<float> plain(tape, batch, samples, parameters, {batch}, random);
    const auto graph = padded<capacity>(tape);
    const std::int64_t bytes = plan_transient(*graph, fuse(*graph)).bytes(64);
    for (const int percent : {70, 45, 20}) {
      const Tape saving = recompute(tape, percent);
      const Reference<float> again(saving, batch, samples, parameters, {batch}, random);
      ASSERT_EQ(saving.roots.size(), tape.roots.size());
      for (const Root& root : tape.roots) {
        const auto &a = plain.root(root.role, root.index), &b = again.root(root.role, root.index);
        EXPECT_EQ(differing_bits(std::as_bytes(std::span(a)), std::as_bytes(std::span(b))), 0) << percent;
      }
      const auto saving_graph = padded<capacity>(saving);
      const std::vector<int> repeats = find_repeats(saving_graph->nodes, saving_graph->first_adjoint),
                             numbers = numbers_without_repeats(saving_graph->nodes, saving_graph->first_adjoint);
      EXPECT_EQ(std::ranges::count_if(repeats, [](int original) { return original >= 0; }),
                saving.size() - tape.size());
      for (int i = 0; i < saving.size(); ++i) {  // without the repeats, it is the original tape
        const Node& node = saving[i];
        const Node& plain_node = tape[numbers[static_cast<std::size_t>(i)]];
        EXPECT_EQ(node.op, plain_node.op);
        for (int k = 0; k < node.op->arity; ++k)
          EXPECT_EQ(numbers[static_cast<std::size_t>(node.in[k])], plain_node.in[k]);
      }
      const auto plan = plan_transient(*saving_graph, fuse(*saving_graph));
      EXPECT_TRUE(valid(plan, 7));
      less += plan.bytes(64) < bytes;
    }
  }
  EXPECT_GT(less, 100);
}

/// Returns a residual net with so many blocks that the step has 800 nodes.
Tape residual_program() {
  Tape tape;
  const Scope scope(tape.parameters);
  Var x = input(tape, Shape::per_sample({64}), DType::f32);
  for (int i = 0; i < 37; ++i) {
    Message name;
    name << "block" << i;
    x = x + nn::Linear(scope / name.view(), 48, 64)(tanh(nn::Linear(scope / name.view() / "inner", 64, 48)(x)));
  }
  BackwardSpace space;
  record_gradients(tape, Loss(mean(x * x, {-1})), space);
  return simplify(tape);
}

TEST(Plan, Of800NodesTakesLessThanFiveMilliseconds) {
  constexpr Counts capacity{830, 0, 0, 160};
  const Tape tape = residual_program();
  ASSERT_GE(tape.size(), 780);
  const auto graph = padded<capacity>(tape);
  const auto schedule = std::make_unique<Schedule<capacity.nodes>>(fuse(*graph));
  double best = 1;
  for (int i = 0; i < 5; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const auto plan = plan_transient(*graph, *schedule);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    ASSERT_GT(plan.count, 100);
    if (i == 0) examine(plan);
  }
  std::printf("%d nodes: planned in %.2f ms\n", tape.size(), best * 1e3);
  EXPECT_LE(best, 5e-3);
}

}  // namespace plan_test
