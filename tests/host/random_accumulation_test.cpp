// Random graphs as models in eager sessions: a window's gradient has the bits of one large batch by the reference, and a
// step gives the same bits however the window is split. GRADUAL_SEED=n runs the graphs from seed n on, not fresh ones.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <span>

#include <gradual/autodiff/print.hpp>
#include <gradual/gradual.hpp>

#include "../drawn_seeds.hpp"
#include "random_graph_on_paper.hpp"

namespace random_graph {
namespace {

constexpr std::int64_t window = 300;  // two closed blocks of 128 and an open one
using Split = std::vector<std::int64_t>;
const Split splits[] = {{window}, {100, 100, 100}, {7, 100, 1, 130, 62}};
constexpr std::uint64_t dropout_seed = 5;

/// The inputs of a whole window, in the order in which a recorder requests them.
struct Data {
  std::vector<std::vector<float>> samples, parameters;
  std::vector<std::int32_t> labels;
  std::vector<Shape> shapes;  ///< of the parameters

  explicit Data(const RandomGraph& graph) {
    struct Taker : OnPaper {
      Data& data;
      Taker(Data& d, const RandomGraph& g) : OnPaper(g), data(d) {}
      Var samples(const Shape& sample) override { return take(OnPaper::samples(sample), data.samples); }
      Var parameter(const Shape& shape) override {
        data.shapes.push_back(shape);
        return take(OnPaper::parameter(shape), data.parameters);
      }
      Var labels() override {
        const Var v = take(OnPaper::labels(), data.samples);
        data.labels.assign(inputs.back().begin(), inputs.back().end());
        return v;
      }
      Var take(Var v, std::vector<std::vector<float>>& to) {
        to.emplace_back(inputs.back().begin(), inputs.back().end());
        return v;
      }
    } taker(*this, {graph.seed, window, {}});
    const Recorder leaves({graph.seed, window, {}}, taker);
  }
};

/// Samples [begin, begin + count) of a window's data, on the tape of a session.
class PartOfWindow : public Source {
 public:
  PartOfWindow(EagerTape& tape, const Data& data, std::int64_t begin, std::int64_t count)
      : tape_(tape), data_(data), begin_(begin), count_(count) {}
  Var samples(const Shape& sample) override {
    const std::span<const float> all(data_.samples[next_++]);
    return tape_.input(all.subspan(at(begin_ * sample.unit()), at(count_ * sample.unit())), sample);
  }
  Var labels() override { return tape_.input(std::span(data_.labels).subspan(at(begin_), at(count_))); }
  Var parameter(const Shape&) override { return gradual::parameter(tape_, next_parameter_++); }

 private:
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  EagerTape& tape_;
  const Data& data_;
  std::size_t next_ = 0;
  int next_parameter_ = 0;
  std::int64_t begin_, count_;
};

/// Returns the sum, for each sample, of the means of all values that no step has read; those that belong to no sample form a
/// term.
Loss loss_of(const Recorder& recorder) {
  Var per_sample, term;
  const auto add = [](Var& sum, Var v) { sum = sum.valid() ? sum + v : v; };
  for (const Recorder::Value& value : recorder.values) {
    if (value.used) continue;
    const Shape s = value.v.shape();
    int order[max_rank]{s.batch_axis}, next = 1;
    for (int i = 0; i < s.rank; ++i)
      if (i != s.batch_axis) order[next++] = i;
    if (s.batched()) add(per_sample, mean_per_sample(gradual::detail::transpose(value.v, order)));
    else add(term, reduce_to(value.v, Shape{}));
  }
  Loss loss = per_sample;
  return term.valid() ? loss.plus(0.01 * term) : loss;
}

bool same(std::span<const float> a, std::span<const float> b) {
  bool equal = a.size() == b.size();
  for (std::size_t i = 0; equal && i < a.size(); ++i)
    equal = std::memcmp(&a[i], &b[i], sizeof(float)) == 0 || (a[i] != a[i] && b[i] != b[i]);
  return equal;
}

struct Outcome {
  std::vector<float> gradient, parameters;
};

/// Trains a session for one window, given in the parts of `split`, in micro-batches of at most `micro`.
Outcome train(const RandomGraph& graph, const OpTable& table, const Data& data, const Split& split, std::int64_t micro) {
  Parameters parameters(Device::cpu());
  Scope scope = parameters.root();
  for (std::size_t p = 0; p < data.shapes.size(); ++p) scope.parameter(std::to_string(p), data.shapes[p], {});
  parameters.initialize(1);
  for (std::size_t p = 0; p < data.shapes.size(); ++p)
    std::copy(data.parameters[p].begin(), data.parameters[p].end(), parameters[static_cast<int>(p)].values.begin());
  Session session(parameters, Accumulate{Adam{}}, {.global_batch = window, .micro_batch = micro, .seed = dropout_seed});
  std::int64_t begin = 0;
  for (const std::int64_t part : split) {
    session.accumulate(part, [&](EagerTape& tape) {
      PartOfWindow source(tape, data, begin, part);
      Recorder recorder(graph, source);
      recorder.run(graph, table);
      return loss_of(recorder);
    });
    begin += part;
  }
  const auto copy = [](std::span<const float> v) { return std::vector<float>(v.begin(), v.end()); };
  return {copy(session.last_gradient()), copy(parameters.values())};
}

/// Returns the summed gradient of the window, computed by the reference as one batch. Errors: TapeError for a refused loss.
std::vector<float> expected_gradient(const RandomGraph& graph, const OpTable& table, const Data& data) {
  struct OnlyRecorded : Source {
    Tape tape;
    int next = 0;
    Var samples(const Shape& sample) override { return input(tape, Shape::per_sample(sample), DType::f32); }
    Var labels() override { return input(tape, Shape::per_sample({}), DType::i32); }
    Var parameter(const Shape&) override { return gradual::parameter(tape, next++); }
  } source;
  for (const Shape& shape : data.shapes) source.tape.parameters.push_back({{}, shape, {}});
  Recorder recorder(graph, source);
  recorder.run(graph, table);
  BackwardSpace space;
  record_gradients(source.tape, loss_of(recorder), space);
  const std::vector<float> scalars(source.tape.scalars.size(), static_cast<float>(window));  // the window's weight
  const Reference<float> reference(source.tape, window, data.samples, data.parameters, scalars,
                                   {true, dropout_seed, 0, nullptr, 0});
  std::vector<float> result;
  for (std::size_t p = 0; p < data.shapes.size(); ++p) {
    const std::vector<float>& g = reference.root(Role::gradient, static_cast<int>(p));
    result.insert(result.end(), g.begin(), g.end());
  }
  return result;
}

/// Returns what is wrong with a graph, or an empty text, also if its loss depends on no parameter. Counts the graphs with
/// gradients that are finite at all samples.
std::string check(const RandomGraph& graph, const OpTable& table, int& finite) {
  const Data data(graph);
  std::vector<float> expected;
  try {
    expected = expected_gradient(graph, table, data);
  } catch (const TapeError& error) {
    if (!std::string_view(error.what()).starts_with("loss: has no derivative with respect to any parameter")) throw;
    return {};
  }
  finite += std::all_of(expected.begin(), expected.end(), [](float g) { return std::isfinite(g); });
  const Outcome whole = train(graph, table, data, splits[0], window);
  for (const Split& split : splits)
    for (const std::int64_t micro : {window, std::int64_t{64}}) {
      const Outcome cut = train(graph, table, data, split, micro);
      const std::string how = std::to_string(split.size()) + " parts, micro-batches of " + std::to_string(micro);
      if (!same(cut.gradient, expected)) return how + ": the gradient is not the reference's";
      if (!same(cut.parameters, whole.parameters)) return how + ": the parameters are not those of one batch";
    }
  return {};
}

TEST(Iota, AlongTheSamplesIsRefused) {
  Tape tape;
  const Var x = input(tape, Shape::per_sample({3}), DType::f32);
  try {
    iota(x, 0);
    FAIL() << "no error";
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(), "iota: the index along the sample axis of [batch, 3] depends on the micro-batch");
  }
}

TEST(RandomAccumulation, HasTheBitsOfOneLargeBatch) {
  constexpr int corpus = 50, fresh = 250;
  const OpTable table = every_step();
  int finite = 0;
  for (const std::uint64_t seed : drawn_seeds("losses", corpus, fresh)) {
    if (HasFailure()) break;
    const RandomGraph graph = admissible(draw_graph(seed, 20), table);
    const std::string wrong = check(graph, table, finite);
    if (wrong.empty()) continue;
    const RandomGraph small = shrunk(graph, table, [&](const RandomGraph& g) { return !check(g, table, finite).empty(); });
    ADD_FAILURE() << wrong << "\n" << describe(small, table) << check(small, table, finite);
  }
  std::printf("%d graphs with gradients that are finite at all samples\n", finite);
  EXPECT_GE(finite, (corpus + fresh) / 2);
}

}  // namespace
}  // namespace random_graph
