// A net compiled for several shares of kept activations: the cheapest way that fits is taken, and no bit depends on it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <sstream>
#include <utility>

#include "../models.hpp"

namespace shares_test {

using namespace models;

/// Layers of one width, so that activations need more memory than parameters, with dropout, a skip and a normalisation.
struct Chain {
  nn::Linear first, last;
  std::array<nn::Linear, 9> middle;
  template <std::size_t... I>
  constexpr Chain(Scope s, std::index_sequence<I...>)
      : first(s / "first", 9, 24), last(s / "last", 24, 5), middle{layer(s, I)...} {}
  constexpr explicit Chain(Scope s) : Chain(s, std::make_index_sequence<9>{}) {}
  static constexpr nn::Linear layer(Scope s, std::size_t i) {
    Name name;
    name << "layer" << static_cast<int>(i);
    return nn::Linear(s / name.view(), 24, 24);
  }
  constexpr Loss loss(Var x, Var label) const {
    x = dropout(tanh(first(x)), 0.25);
    for (std::size_t i = 0; i < middle.size(); ++i) {
      const Var before = x;
      x = tanh(middle[i](x));
      if (i == 3) x = x + before;
      if (i == 6) x = x - broadcast(mean(x, {-1}, true), x.shape());
    }
    return {cross_entropy(last(x), label)};
  }
};
using Net = Compiled<Chain, Inputs<f32[9], i32>>;
using Nets = Net::KeepingOneOf<100, 70, 25>;
constexpr auto optimizer = Accumulate{Adam{.learning_rate = 0.01f}};
constexpr std::int64_t window = 200;
constexpr Planning as_trainer{.gather = true};

template <int Kept>
constexpr TrainingWay way(Budget budget, std::int64_t micro_batch = 0) {
  return way_to_train<Net::Keeping<Kept>>(optimizer, window, budget, as_trainer, micro_batch);
}
constexpr TrainingWay cheapest(Budget budget, std::int64_t micro_batch = 0) {
  return cheapest_way(Nets{}, optimizer, window, budget, as_trainer, micro_batch);
}
constexpr std::int64_t need(int kept, std::int64_t micro_batch) {
  const TrainingWay ways[] = {way<100>({}, micro_batch), way<70>({}, micro_batch), way<25>({}, micro_batch)};
  for (const TrainingWay& w : ways)
    if (w.kept == kept) return w.memory.total();
  return 0;
}

static_assert(cheapest({}).kept == 100 && cheapest({}).micro_batch == window && cheapest({}).flops_again == 0);
static_assert(way<70>({}).flops_again > 0 && way<25>({}).flops_again > way<70>({}).flops_again);
static_assert(way<25>({}).flops - way<25>({}).flops_again == way<100>({}).flops);
static_assert(need(25, 8) < need(70, 8) && need(70, 8) < need(100, 8));
static_assert(cheapest(need(100, 8), 8).kept == 100 && cheapest(need(100, 8) - 1, 8).kept == 70);
static_assert(cheapest(need(25, 8), 8).kept == 25 && !cheapest(need(25, 8) - 1, 8).fits());
static_assert(cheapest(need(25, 1)).kept == 25 && cheapest(need(25, 1)).micro_batch == 1);
static_assert(!cheapest(0).fits());
static_assert(way<25>({}).flops_again > way<100>({}).flops / 3, "some activations are computed more than once again");

// The choice is made at compile time if the budget is known.
template <std::int64_t Bytes>
using Within = WithinBudget<Net, Accumulate<Adam>, 64, Bytes>;
constexpr std::int64_t enough = Net::training_memory(optimizer, 64).total();
constexpr std::int64_t less = Net::Keeping<70>::training_memory(optimizer, 64).total();
static_assert(std::is_same_v<Within<enough>, Net>);
static_assert(Within<less>::kept < 100 && Within<less>::training_memory(optimizer, 64).total() <= less);

TEST(Shares, TheCheapestWayThatFitsIsTaken) {
  int seen[3]{};
  for (std::int64_t budget = need(25, 1) - 64; budget < need(100, window) + 1000; budget += 480) {
    const TrainingWay found = cheapest(budget), ways[] = {way<100>(budget), way<70>(budget), way<25>(budget)};
    bool any = false;
    for (const TrainingWay& w : ways) {
      any |= w.fits();
      if (!w.fits()) continue;
      EXPECT_LE(found.cost(), w.cost()) << budget;
      EXPECT_LE(w.memory.total(), budget);
      EXPECT_EQ(w.micro_batches(), (window + w.micro_batch - 1) / w.micro_batch);
    }
    EXPECT_EQ(found.fits(), any) << budget;
    if (found.fits()) ++seen[found.kept == 100 ? 0 : found.kept == 70 ? 1 : 2];
  }
  EXPECT_GT(seen[0], 0);
  EXPECT_GT(seen[1] + seen[2], 0) << "computing again never pays";
}

TEST(Shares, AreListedWithTheCheapestMarked) {
  const std::vector<std::int64_t> windows{1, window};
  const std::string text = ways_to_train(Nets{}, optimizer, need(25, 1), windows, as_trainer);
  const std::string expected_line = "   200    25%    200 x     1";
  EXPECT_NE(text.find(expected_line), std::string::npos) << text;
  const std::string last = text.substr(text.find(expected_line));
  EXPECT_NE(last.find(detail::grouped(need(25, 1)) + "  <-\n"), std::string::npos) << text;
  EXPECT_NE(text.find("   200   100%  do not fit\n"), std::string::npos) << text;
  EXPECT_EQ(std::ranges::count(text, '\n'), 1 + 2 * 3);
  EXPECT_EQ(ways_to_train(Nets{}, optimizer, 0, windows, as_trainer).find("<-"), std::string::npos);

  const std::string bytes = memory_by_batch<Net>(optimizer, {1, 100});
  char total[60];
  std::snprintf(total, sizeof(total), "%-16s %14s %14s\n", "total",
                detail::grouped(Net::training_memory(optimizer, 1).total()).c_str(),
                detail::grouped(Net::training_memory(optimizer, 100).total()).c_str());
  EXPECT_TRUE(bytes.ends_with(total)) << bytes;
}

struct Trained : testing::Test {
  const std::vector<float> x = numbers(500 * 9);
  const std::vector<std::int32_t> y = labels(500, 5);
  const Dataset<float, std::int32_t> data{x, y};
  TrainerOptions options{.global_batch = window, .seed = 3};

  template <class N>
  std::vector<float> trained(N net) const {
    Trainer trainer(net, optimizer, options);
    trainer.fit(data, {.epochs = 3, .progress = Progress::never});
    const auto parameters = trainer.parameters();
    return {parameters.values().begin(), parameters.values().end()};
  }
};

TEST_F(Trained, EndsInTheSameBitsInAnyBudget) {
  const std::vector<float> whole = trained(Net{});
  for (const auto& [kept, budget] : {std::pair{100, std::int64_t{Budget::unlimited}}, {25, need(25, 1)}}) {
    options.memory_budget = budget;
    Trainer trainer(Nets{}, optimizer, options);
    EXPECT_EQ(trainer.way().kept, kept);
    EXPECT_LE(trainer.memory().total(), budget);
    EXPECT_EQ(trainer.memory().total(), trainer.way().memory.total());
    std::ostringstream text;
    text << trainer.way();
    EXPECT_NE(text.str().find("micro-batches of " + std::to_string(trainer.way().micro_batch) + " of "), std::string::npos)
        << text.str();
    EXPECT_EQ(text.str().find("% of the activations kept") == std::string::npos, kept == 100);
    EXPECT_EQ(trainer.visit([](auto& t) { return t.session().options().micro_batch; }), trainer.way().micro_batch);
    const std::vector<float> parameters = trained(Nets{});
    EXPECT_EQ(differing_bits(std::as_bytes(std::span(whole)), std::as_bytes(std::span(parameters))), 0) << budget;
  }
}

TEST_F(Trained, IsPlannedAsItsSessionIs) {
  TrainerOptions carries = options;
  carries.tail = Tail::carry;  // epochs end anywhere, so that unfinished blocks need memory
  carries.memory_budget = need(100, window);
  Trainer trainer(Nets{}, optimizer, carries);
  EXPECT_LE(trainer.memory().total(), need(100, window));
  EXPECT_EQ(trainer.memory().total(), trainer.way().memory.total());
}

TEST_F(Trained, GoesOnInAnotherShare) {
  const std::vector<float> whole = trained(Net{});
  const std::string file = testing::TempDir() + "gradual_shares_" + std::to_string(::getpid());
  options.open_blocks = OpenBlocks::always;
  options.micro_batch = 60;
  Trainer first(Nets{}, optimizer, options);
  int parts = 0;
  first.fit(data, {.epochs = 3, .progress = Progress::never, .on_micro_batch = [&](std::int64_t) {
                     if (++parts == 6) first.save_state(file);
                   }});
  options.memory_budget = first.memory().total() - 1;
  Trainer resumed(Nets{}, optimizer, options);
  EXPECT_EQ(first.way().kept, 100);
  EXPECT_LT(resumed.way().kept, 100);
  resumed.load_state(file);
  first.load_state(file);
  first.discard_epoch();
  EXPECT_EQ(first.visit([](auto& t) { return t.session().position(); }), 0);
  std::remove(file.c_str());
  EXPECT_GT(resumed.visit([](auto& t) { return t.session().position(); }), 0);
  while (resumed.epoch() < 3) resumed.fit(data, {.progress = Progress::never});
  const auto parameters = resumed.parameters();
  EXPECT_EQ(differing_bits(std::as_bytes(std::span(whole)), std::as_bytes(parameters.values())), 0);
}

TEST_F(Trained, AWindowsStateIsThatOfAnyShare) {
  Session plain(Net{}, optimizer, {.global_batch = window, .micro_batch = 30});
  Session saving(Net::Keeping<25>{}, optimizer, {.global_batch = window, .micro_batch = 17});
  plain.accumulate(std::span(x).first(70 * 9), std::span(y).first(70));
  saving.restore(plain.state());
  EXPECT_EQ(saving.position(), 70);
  const auto rest = std::span(x).subspan(70 * 9, 130 * 9);
  EXPECT_EQ(plain.accumulate(rest, std::span(y).subspan(70, 130)), 1);
  EXPECT_EQ(saving.accumulate(rest, std::span(y).subspan(70, 130)), 1);
  EXPECT_EQ(differing_bits(plain.parameter_bytes(), saving.parameter_bytes()), 0);
}

TEST_F(Trained, RefusesWhatNoShareCan) {
  options.memory_budget = need(25, 1) - 1;
  EXPECT_THROW(Trainer(Nets{}, optimizer, options), MemoryError);
  options.freeze = {"layer*"};  // which needs no memory with this rule
  EXPECT_THROW(Trainer(Nets{}, optimizer, options), MemoryError);
  options.memory_budget = need(25, 1);
  const Trainer frozen(Nets{}, optimizer, options);
  EXPECT_EQ(frozen.memory().total(), frozen.way().memory.total());
  options.freeze = {"nobody"};
  EXPECT_THROW(Trainer(Nets{}, optimizer, options), OptionError);
  EXPECT_THROW(Trainer(Nets{}, optimizer, {.global_batch = 0}), OptionError);
}

TEST(Shares, AreChosenByTheCompilerForASession) {
  constexpr TrainingWay chosen = cheapest_way(Net::KeepingOneOf<100, 70, 25>{}, optimizer, 200, 128_KiB);
  static_assert(chosen.fits());
  Session session(Net::Keeping<chosen.kept>{}, optimizer,
                  {.global_batch = 200, .micro_batch = chosen.micro_batch, .open_blocks = OpenBlocks::as_needed});
  EXPECT_LT(chosen.kept, 100);
  EXPECT_EQ(session.memory().total(), chosen.memory.total());
}

}  // namespace shares_test
