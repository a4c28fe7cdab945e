// Unfinished blocks of wide products and of large tables, whose rows are held until the blocks are whole: the bits and states
// of sessions that keep chains, in every way that a window goes on, ends, is saved or is discarded.
#include "../resume.hpp"

namespace held_rows_test {

using namespace resume;

constexpr std::int64_t columns = 259, rows = 257, positions = 3, window = 256;
constexpr std::size_t parts[] = {7, 60, 1, 64, 3, 121, 130, 90, 200};  // end inside blocks, on blocks and across windows

/// One product whose rows are held, of one position and of three in each sample, behind one whose chains are kept.
struct Wide {
  nn::Linear narrow, wide;
  constexpr explicit Wide(Scope s) : narrow(s / "narrow", 4, columns), wide(s / "wide", columns, rows) {}
  constexpr Var out(Var x) const { return wide(tanh(narrow(x))); }
  constexpr Loss loss(Var x) const {
    const Var y = out(x);
    return x.shape().rank == 2 ? mean(y * y, {1}) : mean(y * y, {1, 2});
  }
};
using Single = Compiled<Wide, Inputs<f32[4]>>;
using Several = Compiled<Wide, Inputs<f32[positions][4]>>;
using Doubles = Compiled<Wide, Inputs<f64[4]>>;

/// Operands of 16 bits, whose sums are floats.
struct WideInSixteenBits : Wide {
  using Wide::Wide;
  constexpr Loss loss(Var x) const {
    const Var y = matmul(convert(tanh(narrow(x)), DType::bf16), convert(wide.weight().on(x), DType::bf16));
    return mean(square(convert(y, DType::f32)), {1});
  }
};
using Sixteen = Compiled<WideInSixteenBits, Inputs<f32[4]>>;

/// Tables with more rows than a block can name, of floats and of 16 bits, and one with fewer, whose chains are kept.
struct Tables {
  nn::Embedding large, narrow, small;
  constexpr explicit Tables(Scope s) : large(s / "large", 500, 3), narrow(s / "narrow", 300, 1), small(s / "small", 150, 3) {}
  constexpr Loss loss(Var index) const {
    const Var first = select(index, 1, 0), halves = convert(large.weight().on(index), DType::bf16);
    return mean(square(large(index) * small(index) - 0.5), {1, 2}) + mean(square(narrow(first) + 1.0), {1}) +
           mean(square(convert(gather(halves, index), DType::f32)), {1, 2});
  }
};
using Indices = Compiled<Tables, Inputs<i32[positions]>>;

template <class Net, class S = typename Net::Real>
constexpr int holding_cuts() {
  int count = 0;
  for (const SampleSum& sum : session_tables<Net, Adam, S>.sums) count += sum.may_hold_rows;
  return count;
}
static_assert(holding_cuts<Single>() == 1 && holding_cuts<Several>() == 1 && holding_cuts<Doubles>() == 1 &&
              holding_cuts<Sixteen>() == 1 && holding_cuts<Single, Compensated<float>>() == 1 &&
              holding_cuts<Indices>() == 3 && holding_cuts<ClassifierNet>() == 0);

template <class Net>
auto data(std::int64_t samples) {
  const auto& input = Net::Training::graph.inputs[0];
  const auto count = static_cast<std::size_t>(samples * input.shape.unit());
  if constexpr (Net::Training::graph.inputs[0].dtype == DType::i32) return labels(count, 150);
  else return numbers_in<typename Net::Real>(count);
}
/// Gives part after part to `take`.
template <class Net, class F>
void each_part(F take) {
  const auto x = data<Net>(window * 3);
  const std::size_t unit = x.size() / (window * 3);
  std::size_t at = 0;
  for (const std::size_t part : parts) {
    take(std::span(x).subspan(at * unit, part * unit));
    at += part;
  }
}

constexpr SessionOptions holding{.global_batch = window, .micro_batch = 121};
/// Returns options by which chains are kept: micro-batches that can be undone are checked as they are added.
SessionOptions keeping() {
  SessionOptions options = holding;
  options.non_finite = NonFinite::drop_micro_batch;
  return options;
}

template <class Net, class Optimizer>
void expect_states_of_chains(const Optimizer& optimizer, int threads) {
  SessionOptions options = holding;
  options.threads = threads;
  if (threads > 1) options.micro_batch = 30;  // larger ones would be kept as chains
  Session<Net, Optimizer> held(Net{}, optimizer, options), chains(Net{}, optimizer, keeping());
  each_part<Net>([&](auto x) {
    held.accumulate(x);
    chains.accumulate(x);
    EXPECT_TRUE(equal(held.state(), chains.state())) << threads << " threads, at " << held.position();
  });
  EXPECT_GT(held.position(), 0);
  held.flush();
  chains.flush();
  EXPECT_EQ(held.step_count(), 3);
  EXPECT_TRUE(equal(held.state(), chains.state()));
}

TEST(HeldRows, StatesAreThoseOfChains) {
  for (const int threads : {1, 3}) {
    expect_states_of_chains<Single>(Accumulate{Adam{}}, threads);
    expect_states_of_chains<Several>(Accumulate{Sgd{.momentum = 0.9f}}, threads);
  }
  expect_states_of_chains<Doubles>(Accumulate{Adam{}}, 1);
  expect_states_of_chains<Sixteen>(Accumulate{Adam{}}, 1);
  expect_states_of_chains<Single>(Accumulate{Adam{}}.in<Compensated<float>>(), 1);
  expect_states_of_chains<Single>(Accumulate{Adam{}}.in<double>(), 3);
  for (const int threads : {1, 3}) expect_states_of_chains<Indices>(Accumulate{Adam{}}, threads);
  expect_states_of_chains<Indices>(Accumulate{Adam{}}.in<Compensated<float>>(), 1);
}

/// Expects sessions with these options that resume from the file of each part of a run to equal one that was never saved: at
/// the end of the next window, after which only parameters and their states remain of what was loaded, or after the flush.
template <class Net>
void expect_to_go_on(const std::string& file, std::initializer_list<SessionOptions> options) {
  using S = Session<Net, Accumulate<Adam>>;
  S never_saved(Net{}, Accumulate{Adam{}}, holding), saved(Net{}, Accumulate{Adam{}}, holding);
  std::vector<Checkpoint> states;  // after each part, and after the flush
  each_part<Net>([&](auto x) {
    never_saved.accumulate(x);
    states.push_back(never_saved.state());
  });
  never_saved.flush();
  states.push_back(never_saved.state());
  ASSERT_EQ(states.size(), std::size(parts) + 1);
  std::size_t part = 0;
  each_part<Net>([&](auto x) {
    saved.accumulate(x);
    saved.save_state(file);
    for (const SessionOptions& of : options) {
      S next(Net{}, Accumulate{Adam{}}, of);
      next.load_state(file);
      EXPECT_TRUE(equal(states[part], next.state())) << "what was loaded is chains";
      const std::int64_t steps = next.step_count();
      std::size_t at = 0, last = part;
      each_part<Net>([&](auto y) {
        if (at > part && next.step_count() == steps) next.accumulate(y), last = at;
        ++at;
      });
      if (next.step_count() == steps) next.flush(), last = std::size(parts);
      EXPECT_TRUE(equal(states[last], next.state())) << "killed after part " << part << ", compared after part " << last;
    }
    ++part;
  });
}

using HeldRowsInFiles = Resume;
TEST_F(HeldRowsInFiles, GoOnAfterEveryPart) {
  expect_to_go_on<Single>(file, {holding, keeping()});
  expect_to_go_on<Several>(file, {holding});
  expect_to_go_on<Indices>(file, {holding});
}

TEST(HeldRows, OfAForgottenWindowAreForgotten) {
  using S = Session<Single, Accumulate<Adam>>;
  S again(Single{}, Accumulate{Adam{}}, holding), once(Single{}, Accumulate{Adam{}}, holding);
  const auto x = data<Single>(window);
  const auto run = [&](S& session) {
    session.accumulate(std::span(x).first(70 * 4));
    session.accumulate(std::span(x).subspan(70 * 4, 50 * 4));
    session.flush();
  };
  run(once);
  S from(Single{}, Accumulate{Adam{}}, holding);
  from.accumulate(std::span(x).last(100 * 4));
  again.restore(from.state());  // inside a block, as chains
  again.discard();
  run(again);
  EXPECT_TRUE(equal(once.state(), again.state()));
}

/// A processor that runs out of memory.
struct Small : Cpu {
  static inline bool ends = false;
  struct Memory : HeapBlock {
    Memory() = default;
    explicit Memory(std::int64_t bytes) : HeapBlock(ends ? throw MemoryError("no more") : bytes) {}
  };
};

TEST(HeldRows, AreSummedInWorkspaceThatIsThere) {
  using Net = Compiled<Wide, Inputs<f32[4]>, Small>;
  const auto x = numbers(60 * 4);
  Session<Net, Accumulate<Adam>> session(Net{}, Accumulate{Adam{}}, holding), as_ever(Net{}, Accumulate{Adam{}}, holding);
  session.accumulate(x);
  as_ever.accumulate(x);
  Small::ends = true;
  EXPECT_THROW(session.set_budget(session.memory().total() - 100'000), MemoryError);
  EXPECT_TRUE(equal(session.state(), as_ever.state()));
  EXPECT_THROW(session.close_blocks(), MemoryError);
  Small::ends = false;
  session.close_blocks();
  as_ever.close_blocks();
  EXPECT_TRUE(equal(session.state(), as_ever.state()));
}

TEST(HeldRows, NoiseIsMeasuredOnSumsOfThem) {
  SessionOptions options = holding;
  options.noise_batch = 32;
  const auto noise = [&](std::vector<std::size_t> split) {
    Session session(Single{}, Accumulate{Adam{}}, options);
    const auto x = data<Single>(window);
    std::size_t at = 0;
    for (const std::size_t part : split) {
      session.accumulate(std::span(x).subspan(at * 4, part * 4));
      at += part;
    }
    return session.gradient_noise().variance;
  };
  EXPECT_GT(noise({256}), 0);
  EXPECT_EQ(noise({256}), noise({7, 121, 128}));
}

}  // namespace held_rows_test
