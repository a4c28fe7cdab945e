// Tables of ids, towers and rankings: the code of the guide to recommenders.
#include <gradual/check/test_model.hpp>
#include <gradual/data/csv.hpp>
#include <gradual/data/roc_auc.hpp>

#include <cmath>
#include <numeric>

#include "../documented.hpp"

namespace documented_recommenders_test {

using namespace documented;

template <int rows>
struct Clicks {
  static constexpr int width = 8, all = 4 * width + 3;
  nn::Embedding table, bias;
  nn::Linear cross, hidden, output;
  Parameter temperature;  // frozen until the net is calibrated
  constexpr explicit Clicks(Scope s)
      : table(s / "table", rows, width, init::normal(0.05)), bias(s / "bias", rows, 1, init::zeros()),
        cross(s / "cross", all, all), hidden(s / "hidden", all, 32), output(s / "output", all + 32, 2),
        temperature(s.parameter("temperature", Shape{}, init::constant(1))) {}
  constexpr Var scores(Var ids, Var x) const {  // of a click and of an order, as logarithms of odds: [batch, 2]
    const Var each = table(ids);                // [batch, 4, width]
    const Var pairs = 0.5 * sum(square(sum(each, {1})) - sum(square(each), {1}), {1}, true);  // Σ of products of two columns
    const Var start = concat({flatten(each), x}, 1), crossed = start * cross(start) + start;
    return output(concat({crossed, relu(hidden(start))}, 1)) + sum(bias(ids), {1}) + pairs;
  }
  constexpr Var predict(Var ids, Var x) const { return sigmoid(scores(ids, x) / temperature); }
  constexpr Loss loss(Var ids, Var x, Var clicked, Var ordered, Var weight) const {
    const auto [click, order] = split<2>(scores(ids, x) / temperature);
    const Var of_click = bce_with_logits(click, 0.98 * clicked + 0.01);  // towards 0.99 and 0.01
    const Var of_order = select(clicked, 1, 0) * bce_with_logits(order, ordered);
    return Loss(0.7 * of_click + 0.3 * of_order, metric("click", of_click)).weighted_by(weight);
  }
};
template <int rows>
using ClicksNet = Compiled<Clicks<rows>, Inputs<i32[4], f32[3], f32[1], f32[1], f32>>;

struct TwoTowers {  // ids: items that are offered, and behind them eight that were liked before, 0 where there were fewer
  static constexpr int width = 16, history = 8;
  nn::Embedding user, item;
  nn::Linear left, right;
  constexpr explicit TwoTowers(Scope s)
      : user(s / "user", 1000, width, init::normal(0.1)),
        item(s / "item", 2000, width, {.padding_idx = 0}, init::normal(0.1)), left(s / "left", 2 * width, width),
        right(s / "right", width, width) {}
  constexpr Var taste(Var who, Var ids, Var each) const {
    const std::int64_t offered = ids.shape().extent[1] - history;
    const Var count = sum(slice(ids, 1, offered, history) != 0.0, {1}, true);
    return left(concat({user(who), sum(slice(each, 1, offered, history), {1}) / maximum(count, 1.0)}, 1));
  }
  constexpr Var predict(Var who, Var ids) const {  // [batch, offered]
    const Var each = item(ids);                    // looked up once, whatever for
    const Var offers = right(slice(each, 1, 0, ids.shape().extent[1] - history));
    return sum(offers * reshape(taste(who, ids, each), Shape::per_sample({1, width})), {2});
  }
  constexpr Loss loss(Var who, Var ids, Var log_q) const {  // the first was taken, the others were drawn, with probability q
    const Var s = predict(who, ids) - log_q;
    return {select(logsumexp(s) - slice(s, 1, 0, 1), 1, 0), metric("first", argmax(s) == 0.0)};
  }
};
using Towers = Compiled<TwoTowers, Inputs<i32, i32[5 + 8], f32[5]>>;
using Offers = Compiled<TwoTowers, Inputs<i32, i32[500 + 8]>>;

constexpr Var pairwise(Var s) {  // BPR: the first above each of the others
  return mean(softplus(slice(s, 1, 1, s.shape().extent[1] - 1) - slice(s, 1, 0, 1)), {1});
}
constexpr Var listwise(Var s, Var relevance) { return -sum(softmax(relevance) * log_softmax(s), {1}); }  // ListNet

struct Ranking {
  constexpr explicit Ranking(Scope) {}
  constexpr Var predict(Var s, Var relevance) const {
    return concat({reshape(pairwise(s), Shape::per_sample({1})), reshape(listwise(s, relevance), Shape::per_sample({1}))}, 1);
  }
};

double ndcg(std::span<const float> scores, std::span<const float> gains, std::size_t shown) {
  const auto sum_by = [&](std::span<const float> by) {
    std::vector<std::size_t> order(by.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return by[a] > by[b]; });
    double sum = 0, place = 1;
    for (const std::size_t i : std::span(order).first(std::min(shown, order.size())))
      sum += (std::exp2(gains[i]) - 1) / std::log2(++place);
    return sum;
  };
  return sum_by(gains) > 0 ? sum_by(scores) / sum_by(gains) : 1;
}

struct LookedUpTwice {
  nn::Embedding item;
  constexpr explicit LookedUpTwice(Scope s) : item(s / "item", 100'000, 16) {}
  constexpr Loss loss(Var ids) const { return mean(square(item(select(ids, 1, 0)) - item(select(ids, 1, 1))), {1}); }
};
constexpr auto twice = Compiled<LookedUpTwice, Inputs<i32[2]>>::training_memory(Accumulate{Adam{}}, 128);
static_assert(twice.parameters == 6'400'000 && twice.gradients == 19'200'000);

constexpr auto rule = Accumulate{ByName{Adagrad{.learning_rate = 0.05}, AdamW{}, {{"table/*", "bias/*"}}}};

/// Impressions, the earliest first. Whether one was clicked depends on two of the four columns together.
struct Log {
  std::vector<std::int32_t> ids;
  std::vector<float> x, clicked, ordered, weight;

  explicit Log(std::size_t samples) : x(models::numbers(samples * 3)), weight(samples) {
    for (std::size_t i = 0; i < samples; ++i) {
      const std::size_t random = random_bits(1, 0, i);
      for (std::size_t c = 0; c < 4; ++c) ids.push_back(static_cast<std::int32_t>(c * 25 + (random >> (8 * c)) % 25));
      clicked.push_back((ids[4 * i] + ids[4 * i + 1]) % 3 == 0);
      ordered.push_back(clicked.back() * static_cast<float>(ids[4 * i + 2] % 2));
      weight[i] = 0.5f + 0.5f * static_cast<float>(i) / static_cast<float>(samples);
    }
  }
};

TEST_F(Documented, IdsOfFourColumnsInOneTable) {
  const Table table = parse_csv("shop,item\n3,17\n24,2\n", {.header = true});
  std::vector<std::int32_t> ids = table.labels({"shop", "item"});
  const std::array<std::int32_t, 2> first{0, 25};  // row of each column
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] += first[i % first.size()];
  EXPECT_EQ(ids, (std::vector<std::int32_t>{3, 42, 24, 27}));
}

TEST_F(Documented, ClicksOrdersAndCalibration) {
  const Log log(2000);
  const auto& [ids, x, clicked, ordered, weight] = log;
  const auto [train, later] = Dataset(ids, x, clicked, ordered, weight).split(0.9);  // in the order of time
  Trainer trainer(ClicksNet<100>{}, rule, {.global_batch = 256, .freeze = {"temperature"}});
  trainer.fit(train, {.epochs = 20, .validate = later, .patience = 5});
  EXPECT_EQ(trainer.parameters()["temperature"].values[0], 1);
  EXPECT_TRUE(test_model(ClicksNet<100>{}, trainer.parameters().values(), std::span(ids).first(8 * 4), std::span(x).first(8 * 3),
                         std::span(clicked).first(8), std::span(ordered).first(8), std::span(weight).first(8))
                  .mistakes.empty());

  Trainer calibrated(ClicksNet<100>{}, Adam{.learning_rate = 0.05},
                     {.global_batch = 200, .freeze = {"table/*", "bias/*", "cross/*", "hidden/*", "output/*"}});
  calibrated.session().set_parameters(trainer.parameters());
  calibrated.fit(later, {.epochs = 40});  // a step each
  EXPECT_LT(calibrated.evaluate(later).loss(), trainer.evaluate(later).loss());
  EXPECT_NE(calibrated.parameters()["temperature"].values[0], 1);

  std::vector<float> p;
  const std::vector<float> both = trainer.predict(std::span(ids).last(200 * 4), std::span(x).last(200 * 3));
  for (std::size_t i = 0; i < both.size(); i += 2) p.push_back(both[i]);
  const std::vector<std::int32_t> y(clicked.end() - 200, clicked.end());
  EXPECT_GT(roc_auc(p, y), 0.9);

  std::vector<std::int32_t> beyond = ids;
  beyond[4 * 7 + 1] = 100;
  try {
    trainer.fit(Dataset(beyond, x, clicked, ordered, weight));
    FAIL();
  } catch (const DataError& error) {
    EXPECT_STREQ(error.what(), "input 0, sample 7: index 1 is 100, outside the table's 100 rows 0 to 99");
  }
}

TEST_F(Documented, ATableThatGrows) {
  const Log log(512);
  const auto& [ids, x, clicked, ordered, weight] = log;
  Session smaller(ClicksNet<100>{}, rule, {.global_batch = 256});
  smaller.accumulate(ids, x, clicked, ordered, weight);
  smaller.save_state("run.safetensors");

  Parameters parameters(Device::cpu());
  const Clicks<120> net(parameters.root());
  Session session(parameters, rule, {.global_batch = 256});
  const auto rows = parameters["table/weight"].values;
  const std::vector<float> begun(rows.begin(), rows.end());
  const Checkpoint old = load("run.safetensors");
  Checkpoint grown = session.state();  // of a net with more rows that has just been made
  for (auto& [name, tensor] : grown.tensors) std::ranges::copy(old.tensor(name).values, tensor.values.begin());
  grown.notes["step"] = old.note("step");
  session.restore(grown);

  EXPECT_TRUE(std::equal(rows.begin() + 100 * 8, rows.end(), begun.begin() + 100 * 8)) << "new rows as they begin";
  smaller.accumulate(ids, x, clicked, ordered, weight);
  session.accumulate(512, [&](EagerTape& tape) {
    const Var of_ids = tape.input(ids, {4}), of_x = tape.input(x, {3}), click = tape.input(clicked, {1}),
              order = tape.input(ordered, {1});
    return net.loss(of_ids, of_x, click, order, tape.input(weight));
  });
  EXPECT_EQ(session.step_count(), 4);
  for (const auto& [name, tensor] : smaller.state().tensors) {
    const Checkpoint after = session.state();
    const std::vector<float>& now = after.tensor(name).values;
    EXPECT_TRUE(std::ranges::equal(tensor.values, std::span(now).first(tensor.values.size()))) << name;
  }
}

/// Each user likes one kind of item.
TEST_F(Documented, TwoTowersAndFiveHundredOffers) {
  constexpr std::size_t samples = 640;
  std::vector<std::int32_t> who, items;
  const std::vector<float> log_q(samples * 5, std::log(1 / 2000.0f));
  for (std::size_t i = 0; i < samples; ++i) {
    const auto user = static_cast<std::int32_t>(random_bits(2, 0, i) % 1000);
    who.push_back(user);
    auto drawn = [&, k = std::uint64_t{0}](std::int32_t kind) mutable {
      return 1 + kind + 4 * static_cast<std::int32_t>(random_bits(3 + k++, 0, i) % 40);
    };
    items.push_back(drawn(user % 4));
    for (int other = 1; other < 5; ++other) items.push_back(drawn((user + other) % 4));
    for (int liked = 0; liked < 8; ++liked) items.push_back(liked < user % 9 ? drawn(user % 4) : 0);
  }
  Session session(Towers{}, Accumulate{Adam{.learning_rate = 1e-2}}, {.global_batch = 128});
  for (int epoch = 0; epoch < 20; ++epoch) session.accumulate(who, items, log_q);
  EXPECT_LT(session.last_window().loss(), 0.8) ;
  EXPECT_EQ(session.parameters()["item/weight"].values[0], 0);

  Inference<Offers> serve(session.parameters());
  std::vector<std::int32_t> ids(500 + 8);
  for (std::int32_t i = 0; i < 500; ++i) ids[static_cast<std::size_t>(i)] = 1 + i;
  ids[500] = 5;  // liked once
  std::vector<float> scores(500);
  serve(std::vector<std::int32_t>{7}, ids, scores);
  const std::vector<std::int32_t> few{1, 2, 3, 4, 500, 5, 0, 0, 0, 0, 0, 0, 0};
  const std::vector<float> same = session.predict(std::vector<std::int32_t>{7}, few);
  EXPECT_EQ(same, (std::vector<float>{scores[0], scores[1], scores[2], scores[3], scores[499]}));
}

TEST_F(Documented, RankingsByHand) {
  const std::vector<float> s{0.5f, -1, 2}, relevance{1, 0, 2};
  Inference<Compiled<Ranking, Inputs<f32[3], f32[3]>>> rank(std::vector<float>{});
  std::vector<float> losses(2);
  rank(s, relevance, losses);
  EXPECT_NEAR(losses[0], (std::log1p(std::exp(-1.5)) + std::log1p(std::exp(1.5))) / 2, 1e-6);
  const double wanted = std::exp(1.0) + 1 + std::exp(2.0), all = std::exp(0.5) + std::exp(-1.0) + std::exp(2.0);
  double expected = 0;
  for (std::size_t i = 0; i < 3; ++i) expected -= std::exp(relevance[i]) / wanted * (s[i] - std::log(all));
  EXPECT_NEAR(losses[1], expected, 1e-6);

  EXPECT_DOUBLE_EQ(ndcg(s, relevance, 3), 1);
  const std::vector<float> turned{-0.5f, 1, -2};
  EXPECT_NEAR(ndcg(turned, relevance, 2), (1 / std::log2(3.0)) / (3 + 1 / std::log2(3.0)), 1e-12);
}

}  // namespace documented_recommenders_test
