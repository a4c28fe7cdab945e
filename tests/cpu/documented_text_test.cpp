// Language models, tags, and labels whose places are not known: the code of the guide to text.
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numbers>
#include <numeric>
#include <sstream>

#include "../documented.hpp"

namespace documented_text_test {

using namespace documented;

constexpr double never = -std::numeric_limits<double>::infinity();  // the logarithm of 0

struct Block {
  nn::RmsNorm before_attention, before_hidden;
  nn::MultiHeadAttention attention;
  nn::Linear hidden, output;
  constexpr Block(Scope s, int width, int heads)
      : before_attention(s / "before_attention", width), before_hidden(s / "before_hidden", width),
        attention(s / "attention", width, heads, nn::Attend::backward), hidden(s / "hidden", width, 2 * width),
        output(s / "output", 2 * width, width) {}
  static constexpr Var fading(Var scores, Var before) { return scores - lookup(iota(scores, 1), {0.25, 0.03125}) * before; }
  constexpr Var behind(Var x) const { return x + output(gelu(hidden(before_hidden(x)))); }
  constexpr Var operator()(Var x, Var text) const {
    const Var own = reshape(text, Shape::per_sample({1, text.shape().extent[1], 1})), other = transpose(own, {0, 1, 3, 2});
    return behind(x + attention(before_attention(x), {}, [&](Var scores, Var before) {
      return where(own == other, fading(scores, before), never);
    }));
  }
};

struct Writer {
  static constexpr int tokens = 128, width = 16, layers = 2, heads = 2;
  nn::Embedding table;
  std::vector<Block> blocks;
  nn::RmsNorm last;
  constexpr explicit Writer(Scope s) : table(s / "table", tokens, width, init::normal(0.1)), last(s / "last", width) {
    for (int l = 0; l < layers; ++l) blocks.emplace_back(s / "blocks" / l, width, heads);
  }
  constexpr Var predict(Var token, Var text) const {
    Var x = table(token);
    for (const Block& block : blocks) x = block(x, text);
    return table.scores(last(x));
  }
  constexpr Loss loss(Var token, Var text) const {
    const std::int64_t n = token.shape().extent[1] - 1;
    const Var scores = slice(predict(token, text), 1, 0, n), next = slice(token, 1, 1, n);
    const Var goes_on = slice(text, 1, 0, n) == slice(text, 1, 1, n);
    return Loss(cross_entropy(scores, next), metric("right", argmax(scores) == next)).weighted_by(goes_on);
  }
};
template <int length>
using Lm = Compiled<Writer, Inputs<i32[length], i32[length]>>;

struct NextToken : Writer {
  using Writer::Writer;
  constexpr Var predict(Var token, Var place, Var kept) const {
    Var x = table(token);
    std::vector<Var> outputs;
    for (int l = 0; l < layers; ++l) {
      const Block& block = blocks[l];
      const auto [y, now] = block.attention.step(block.before_attention(x),
                                                 {select(kept, 1, 2 * l), select(kept, 1, 2 * l + 1)}, place, Block::fading);
      x = block.behind(x + y);
      outputs.push_back(flatten(stack({now.keys, now.values}, 1)));
    }
    outputs.push_back(table.scores(last(x)));
    return concat(outputs, 1);
  }
};
template <int room>
using Next = Compiled<NextToken, Inputs<i32, i32, f32[2 * Writer::layers][room][Writer::width]>>;

std::size_t drawn(std::span<const float> scores, double temperature, std::size_t most, double chance) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  const auto score = [&](std::size_t i) { return scores[i]; };
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(most), std::greater{}, score);
  order.resize(most);
  std::vector<double> sums;
  for (const std::size_t i : order)
    sums.push_back(std::exp((scores[i] - scores[order[0]]) / temperature) + (sums.empty() ? 0 : sums.back()));
  return order[static_cast<std::size_t>(std::ranges::upper_bound(sums, chance * sums.back()) - sums.begin())];
}

TEST_F(Documented, ALanguageModelWritesByTheBitsOfItsTraining) {
  constexpr int length = 16, room = 24;
  const std::string all = "the cat sat on the mat. a dog sat on the log. ";
  std::vector<std::int32_t> token, text;
  for (std::size_t first = 0; first + length <= all.size(); ++first)
    for (std::size_t i = first; i < first + length; ++i) {
      token.push_back(all[i]);
      text.push_back(static_cast<std::int32_t>(std::count(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(i), '.')));
    }
  const auto data = Dataset<i32, i32>::of(std::ssize(token) / length, token, text);
  Trainer trainer(Lm<length>{}, Accumulate{AdamW{.learning_rate = 2e-2f}}, {.global_batch = 16});
  trainer.fit(data, {.epochs = 30});
  const Averages seen = trainer.evaluate(data);
  const double perplexity = std::exp(seen.loss()), bits = seen.loss() / std::numbers::ln2;
  EXPECT_LT(perplexity, 2.5);
  EXPECT_DOUBLE_EQ(std::exp2(bits), perplexity);
  EXPECT_GT(seen.metric(Lm<length>::metric("right")), 0.6);
  EXPECT_LT(seen.weight(), static_cast<double>(data.size() * (length - 1)));  // first tokens of texts are not learned

  std::string written = "the cat sat on t";
  const std::vector<std::int32_t> begun(written.begin(), written.end()), of_one_text(length);
  std::vector<float> whole(length * 128);
  Inference<Lm<length>>(trainer.parameters())(begun, of_one_text, whole);

  Inference<Next<room>> write(trainer.parameters());
  std::vector<float> kept(2 * Writer::layers * room * Writer::width), both(kept.size() + Writer::tokens);
  for (std::int32_t place = 0; place + 1 < room; ++place) {
    const std::int32_t now = written[static_cast<std::size_t>(place)];
    write(std::span(&now, 1), std::span(&place, 1), kept, both);
    std::ranges::copy(std::span(both).first(kept.size()), kept.begin());
    const auto scores = std::span(both).subspan(kept.size());
    if (place < length) {
      EXPECT_TRUE(std::ranges::equal(scores, std::span(whole).subspan(static_cast<std::size_t>(place) * 128, 128))) << place;
    }
    if (place + 1 == std::ssize(written))
      written += static_cast<char>(drawn(scores, 0.5, 3, uniform<double>(1, 0, static_cast<std::uint64_t>(place))));
  }
  EXPECT_EQ(std::ssize(written), room);
  EXPECT_TRUE(written.starts_with("the cat sat on the ")) << written;
}

TEST_F(Documented, TokensAreDrawnByTheirScores) {
  const std::vector<float> scores{1, 3, 2, -1};
  std::map<std::size_t, int> times;
  for (std::uint64_t i = 0; i < 10'000; ++i) ++times[drawn(scores, 0.5, 2, uniform<double>(1, 0, i))];
  EXPECT_EQ(times.size(), 2u);
  EXPECT_NEAR(times[1] / 10'000.0, 1 / (1 + std::exp(-2.0)), 0.02);
  EXPECT_EQ(drawn(scores, 1, 1, 0.99), 1u);
}

TEST_F(Documented, AVocabularyOfTheWordsThatOccurOften) {
  const std::string text = "a rose is a rose is a rose said she";
  std::map<std::string, int> times;
  for (std::istringstream words(text); !words.eof();) {
    std::string word;
    words >> word;
    ++times[word];
  }
  std::vector<std::string> known{"<none>", "<other>"};
  for (const auto& [word, count] : times)
    if (count >= 2) known.push_back(word);
  const Categories vocabulary(known);
  EXPECT_EQ(vocabulary.number("rose", 1), 4);
  EXPECT_EQ(vocabulary.number("she", 1), 1);
}

constexpr Var log_sum(Var x) { return select(logsumexp(x), -1, 0); }
constexpr Var best(Var x) { return max_with_index(x).value; }

template <class Join>
constexpr Var over_paths(Var scores, Var pairs, Var present, Join join) {
  const Shape before = Shape::per_sample({1, scores.shape().extent[2]});
  Var now = select(scores, 1, 0);
  for (int t = 1; t < scores.shape().extent[1]; ++t) {
    const Var next = join(reshape(now, before) + pairs) + select(scores, 1, t);
    now = where(slice(present, 1, t, 1) != 0.0, next, now);
  }
  return join(now);
}

struct Tagger {
  static constexpr int words = 20, tags = 3;
  nn::Embedding table;
  nn::Linear output;
  Parameter pairs;
  constexpr explicit Tagger(Scope s)
      : table(s / "table", words, 8), output(s / "output", 8, tags),
        pairs(s.parameter("pairs", Shape{tags, tags}, init::normal(0.1))) {}
  constexpr Var predict(Var word) const {
    const Var scores = output(table(word)), present = word != 0.0;
    const Var path = gradients(over_paths(scores, pairs.on(word), present, best), {scores})[0];
    const Var probability = gradients(over_paths(scores, pairs.on(word), present, log_sum), {scores})[0];
    return stack({path, probability}, 1);
  }
  constexpr Loss loss(Var word, Var tag) const {
    const std::int64_t n = word.shape().extent[1] - 1;
    const Var scores = output(table(word)), is = one_hot(tag, tags, -1);
    const Var moves = matmul(slice(is, 1, 1, n), pairs) * slice(is, 1, 0, n);
    return over_paths(scores, pairs.on(word), word != 0.0, log_sum) - sum(scores * is, {1, 2}) - sum(moves, {1, 2});
  }
};
template <int length>
using Tags = Compiled<Tagger, Inputs<i32[length], i32[length]>>;

TEST_F(Documented, TheScoreOfAPathIsHeldToThoseOfAllPaths) {
  constexpr std::size_t length = 4, tags = Tagger::tags;
  const std::vector<std::int32_t> word{3, 7, 1, 5, 2, 9, 9, 0, 4, 0, 0, 0}, tag{0, 2, 1, 1, 2, 0, 2, -1, 1, -1, -1, -1};
  Session session(Tags<length>{}, Accumulate{Adam{.learning_rate = 0.05f}}, {.global_batch = 3});
  for (auto [name, shape, values] : session.parameters())
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>((i * 37 + name.size()) % 23) / 16 - 0.7f;
  const std::vector<float> losses = session.losses(word, tag), told = session.predict(word);
  const auto weight = session.parameters()["output/weight"].values, bias = session.parameters()["output/bias"].values,
             table = session.parameters()["table/weight"].values, pairs = session.parameters()["pairs"].values;
  for (std::size_t s = 0; s < 3; ++s) {
    const auto end = static_cast<std::size_t>(std::count_if(&word[s * length], &word[s * length] + length, std::identity{}));
    const auto score = [&](std::size_t t, std::size_t k) {
      double sum = bias[k];
      for (std::size_t i = 0; i < 8; ++i)
        sum += static_cast<double>(table[static_cast<std::size_t>(word[s * length + t]) * 8 + i]) * weight[i * tags + k];
      return sum;
    };
    std::vector<std::size_t> path(end), likeliest;
    std::vector<double> of_tag(length * tags);
    double total = 0, most = never, own = never;
    const std::function<void(std::size_t, double)> go = [&](std::size_t t, double so_far) {
      if (t == end) {
        total += std::exp(so_far);
        for (std::size_t i = 0; i < end; ++i) of_tag[i * tags + path[i]] += std::exp(so_far);
        if (so_far > most) most = so_far, likeliest = path;
        if (std::ranges::equal(path, std::span(tag).subspan(s * length, end), {}, {}, [](std::int32_t k) {
              return static_cast<std::size_t>(k);
            }))
          own = so_far;
        return;
      }
      for (path[t] = 0; path[t] < tags; ++path[t])
        go(t + 1, so_far + score(t, path[t]) + (t > 0 ? pairs[path[t] * tags + path[t - 1]] : 0));
    };
    go(0, 0);
    EXPECT_NEAR(losses[s], std::log(total) - own, 1e-5) << s;
    for (std::size_t t = 0; t < length; ++t)
      for (std::size_t k = 0; k < tags; ++k) {
        EXPECT_EQ(told[(2 * s * length + t) * tags + k], t < end && likeliest[t] == k ? 1 : 0) << s << ", " << t << ", " << k;
        EXPECT_NEAR(told[((2 * s + 1) * length + t) * tags + k], of_tag[t * tags + k] / total, 1e-5);
      }
  }
}

TEST_F(Documented, NetsOfSeveralLengthsLearnInTurn) {
  constexpr auto rule = Accumulate{Adam{.learning_rate = 0.05f}};
  Session brief(Tags<2>{}, rule, {.global_batch = 2});
  Session full(Tags<4>{}, rule, {.global_batch = 2});
  const std::vector<std::int32_t> short_words{3, 7, 1, 0}, short_tags{0, 2, 1, -1};
  const std::vector<std::int32_t> long_words{3, 7, 0, 0, 1, 0, 0, 0}, long_tags{0, 2, -1, -1, 1, -1, -1, -1};
  full.restore(brief.state());
  brief.accumulate(short_words, short_tags);
  full.accumulate(long_words, long_tags);
  EXPECT_TRUE(std::ranges::equal(brief.parameters().values(), full.parameters().values()));
  brief.restore(full.state());
  EXPECT_EQ(brief.accumulate(short_words, short_tags), 1);
  EXPECT_EQ(brief.step_count(), 2);
}

constexpr Var ctc(Var scores, Var label, Var length, Var present) {
  const std::int64_t most = label.shape().extent[1];
  const Var log_p = log_softmax(scores), of_blank = select(log_p, 2, 0);
  const Var of_label = matmul(log_p, one_hot(label, scores.shape().extent[2], -1), false, true);
  const Var other = pad(slice(label, 1, 1, most - 1) != slice(label, 1, 0, most - 1), 1, 1, 0);
  Var blank = pad(constant_like(slice(present, 1, 0, 1), 0), 1, 0, most, never), last = slice(blank, 1, 1, most), read = blank;
  for (int t = 0; t < scores.shape().extent[1]; ++t) {
    const Var here = slice(present, 1, t, 1) != 0.0;
    const Var skips = where(other, pad(slice(last, 1, 0, most - 1), 1, 1, 0, never), never);
    const Var reads = log_sum(stack({last, slice(blank, 1, 0, most), skips}, 2)) + select(of_label, 1, t);
    blank = where(here, read + slice(of_blank, 1, t, 1), blank);
    last = where(here, reads, last);
    read = log_sum(stack({blank, pad(last, 1, 1, 0, never)}, 2));
  }
  return -pick(read, length);
}

struct Reader {
  nn::Linear output;
  constexpr explicit Reader(Scope s) : output(s / "output", 2, 4) {}
  constexpr Var predict(Var x) const { return output(x); }
  constexpr Loss loss(Var x, Var label, Var length, Var present) const {
    const Var cost = ctc(predict(x), label, length, present), possible = cost < 1e30;
    return Loss(where(possible, cost, 0.0)).weighted_by(possible);
  }
};
using Reading = Compiled<Reader, Inputs<f32[5][2], i32[3], i32, f32[5]>>;

TEST_F(Documented, LabelsWithoutPlacesAreHeldToAllWaysToWriteThem) {
  constexpr std::size_t samples = 5, steps = 5, classes = 4;
  const std::vector<float> x = models::numbers(samples * steps * 2);
  const std::vector<std::int32_t> label{1, 2, 3, 2, 2, -1, 3, -1, -1, -1, -1, -1, 1, 1, 1}, length{3, 2, 1, 0, 3};
  const std::vector<std::size_t> seen{5, 4, 3, 5, 4};  // the last has no room for the blanks between
  std::vector<float> present(samples * steps);
  for (std::size_t s = 0; s < samples; ++s) std::fill_n(&present[s * steps], seen[s], 1.0f);
  Session session(Reading{}, Accumulate{Adam{}}, {.global_batch = samples});
  const std::vector<float> losses = session.losses(x, label, length, present), scores = session.predict(x);
  for (std::size_t s = 0; s < samples; ++s) {
    double probability = 0;
    const std::function<void(std::size_t, double, std::vector<std::int32_t>)> go = [&](std::size_t t, double p, auto path) {
      if (t < seen[s]) {
        const auto row = std::span(scores).subspan((s * steps + t) * classes, classes);
        double sum = 0;
        for (const float score : row) sum += std::exp(static_cast<double>(score));
        path.push_back(0);
        for (std::size_t k = 0; k < classes; ++k) {
          path.back() = static_cast<std::int32_t>(k);
          go(t + 1, p * std::exp(static_cast<double>(row[k])) / sum, path);
        }
        return;
      }
      path.erase(std::unique(path.begin(), path.end()), path.end());
      std::erase(path, 0);
      if (std::ranges::equal(path, std::span(label).subspan(s * 3, static_cast<std::size_t>(length[s])))) probability += p;
    };
    go(0, 1, {});
    EXPECT_NEAR(losses[s], probability > 0 ? -std::log(probability) : 0, 2e-5) << s;
  }
  EXPECT_EQ(session.accumulate(x, label, length, present), 1);
  EXPECT_EQ(session.dropped_windows(), 0);
  EXPECT_EQ(session.last_window().weight(), 4);
}

}  // namespace documented_text_test
