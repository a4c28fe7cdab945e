// Attention against its formula written as loops, in double.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <functional>

#include <gradual/nn/attention.hpp>
#include <gradual/nn/cross_attention.hpp>

#include "../error_of.hpp"
#include "recorded_layer.hpp"

namespace attention_test {

using namespace recorded_layer;

/// Maps the score of a head for position `other` to its changed value.
using Change = std::function<double(double score, std::size_t head, std::size_t other)>;

/// Returns the attention of the row q to rows with keys k and values v, head by head.
Values mixed_by_head(const Values& q, const std::vector<Values>& k, const std::vector<Values>& v, std::size_t heads,
                     const Change& change = [](double score, std::size_t, std::size_t) { return score; }) {
  const std::size_t each = q.size() / heads;
  Values mixed(q.size(), 0.0);
  for (std::size_t h = 0; h < heads; ++h) {
    Values weight;
    double sum = 0;
    for (std::size_t o = 0; o < k.size(); ++o) {
      double score = 0;
      for (std::size_t i = h * each; i < (h + 1) * each; ++i) score += q[i] * k[o][i];
      sum += weight.emplace_back(std::exp(change(score / std::sqrt(static_cast<double>(each)), h, o)));
    }
    for (std::size_t o = 0; o < weight.size(); ++o)
      for (std::size_t i = h * each; i < (h + 1) * each; ++i) mixed[i] += weight[o] / sum * v[o][i];
  }
  return mixed;
}

/// Returns columns [first, first + width) of rows.
std::vector<Values> columns(const std::vector<Values>& rows, std::size_t first, std::size_t width) {
  std::vector<Values> result;
  for (const Values& row : rows) {
    const auto begin = row.begin() + static_cast<std::ptrdiff_t>(first);
    result.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(width));
  }
  return result;
}

/// Returns a row with the pairs of each head turned, as complex numbers, by the angles of its place for a rotary base.
Values turned(Values row, std::size_t heads, std::size_t place, double base) {
  const std::size_t each = row.size() / heads, half = each / 2;
  for (std::size_t h = 0; h < heads; ++h)
    for (std::size_t i = 0; i < half; ++i) {
      double &a = row[h * each + i], &b = row[h * each + half + i];
      const double rate = std::pow(base, -static_cast<double>(i) / static_cast<double>(half));
      const auto z = std::complex<double>(a, b) * std::polar(1.0, static_cast<double>(place) * rate);
      a = z.real(), b = z.imag();
    }
  return row;
}

/// `slope`: what a score loses for each place that it looks back, times 1 + the head's number.
Values attention(const Recorded& r, const Values& x, std::size_t positions, std::size_t width, std::size_t heads,
                 bool backward, double slope = 0, double rotary = 0) {
  Values result;
  for (std::size_t b = 0; b < x.size() / (positions * width); ++b) {
    std::vector<Values> qkv;
    for (std::size_t p = 0; p < positions; ++p)
      qkv.push_back(affine(&x[(b * positions + p) * width], r["layer/input/weight"], r["layer/input/bias"]));
    auto q = columns(qkv, 0, width), turned_k = columns(qkv, width, width);
    for (std::size_t p = 0; p < positions && rotary != 0; ++p)
      q[p] = turned(q[p], heads, p, rotary), turned_k[p] = turned(turned_k[p], heads, p, rotary);
    for (std::size_t p = 0; p < positions; ++p) {
      auto k = turned_k, v = columns(qkv, 2 * width, width);
      if (backward) k.resize(p + 1), v.resize(p + 1);
      const Values mixed = mixed_by_head(q[p], k, v, heads, [&](double score, std::size_t head, std::size_t other) {
        return score - slope * static_cast<double>(1 + head) * (static_cast<double>(p) - static_cast<double>(other));
      });
      const Values y = affine(mixed.data(), r["layer/output/weight"], r["layer/output/bias"]);
      result.insert(result.end(), y.begin(), y.end());
    }
  }
  return result;
}

TEST(MultiHeadAttention, HasTheValuesOfItsFormula) {
  constexpr std::size_t batch = 2, positions = 5, width = 6, heads = 3;
  for (const bool backward : {false, true}) {
    Recorded r({positions, width});
    const nn::MultiHeadAttention layer(Scope(r.tape.parameters) / "layer", width, heads,
                                       backward ? nn::Attend::backward : nn::Attend::everywhere);
    const Var y = layer(r.x);
    const Values x = numbers(batch * positions * width, 7), got = r.result(y, batch, x);
    expect_near(got, attention(r, x, positions, width, heads, backward));
  }
}

TEST(MultiHeadAttention, HasScoresThatAreChanged) {
  constexpr std::size_t batch = 2, positions = 5, width = 6, heads = 3;
  for (const bool backward : {false, true}) {
    Recorded r({positions, width});
    const nn::MultiHeadAttention layer(Scope(r.tape.parameters) / "layer", width, heads,
                                       backward ? nn::Attend::backward : nn::Attend::everywhere);
    const Var y = layer(r.x, {}, [](Var scores, Var before) {
      return scores - 0.5 * (1.0 + convert(iota(scores, 1), DType::f32)) * before;
    });
    const Values x = numbers(batch * positions * width, 7), got = r.result(y, batch, x);
    expect_near(got, attention(r, x, positions, width, heads, backward, 0.5));
  }
}

TEST(MultiHeadAttention, HasQueriesAndKeysThatAreTurned) {
  constexpr std::size_t batch = 2, positions = 5, width = 12, heads = 2;
  Recorded r({positions, width});
  const nn::MultiHeadAttention layer(Scope(r.tape.parameters) / "layer", width, heads, nn::Attend::everywhere, {.rotary = 50});
  const Var y = layer(r.x);
  const Values x = numbers(batch * positions * width, 7), got = r.result(y, batch, x);
  expect_near(got, attention(r, x, positions, width, heads, false, 0, 50));
}

TEST(MultiHeadAttention, RefusesToTurnWhatIsNoPairs) {
  Recorded r({5, 6});
  const Scope root(r.tape.parameters);
  const nn::MultiHeadAttention odd(root / "odd", 6, 2, nn::Attend::everywhere, {.rotary = 100});
  const nn::MultiHeadAttention below(root / "below", 6, 3, nn::Attend::everywhere, {.rotary = 0.5});
  const nn::MultiHeadAttention above(root / "above", 6, 3, nn::Attend::everywhere, {.rotary = 1e39});
  EXPECT_EQ(error_of<ShapeError>([&] { odd(r.x); }),
            "attention: heads of 3 numbers cannot be rotated in pairs (after layer 'odd/input')");
  EXPECT_EQ(error_of<OptionError>([&] { below(r.x); }),
            "attention: a rotary base of 0.5, which is below 1 or not a float (after layer 'below/input')");
  EXPECT_THROW(above(r.x), OptionError);
}

TEST(CrossAttention, HasTheValuesOfItsFormula) {
  constexpr std::size_t positions = 3, width = 6, others = 4, memory_width = 5, heads = 2;
  Recorded r({positions, width});
  const Var memory = input(r.tape, Shape::per_sample({others, memory_width}), DType::f32);
  const Var present = input(r.tape, Shape::per_sample({others}), DType::f32);
  const nn::CrossAttention layer(Scope(r.tape.parameters) / "layer", width, memory_width, heads);
  const Var all = layer(r.x, memory), some = layer(r.x, memory, present);
  const auto nearer = [](Var scores) { return scores - convert(iota(scores, 3), DType::f32); };
  const Var nearer_of_all = layer(r.x, memory, {}, nearer), nearer_of_some = layer(r.x, memory, present, nearer);
  const Values x = numbers(2 * positions * width, 7), m = numbers(2 * others * memory_width, 8);
  const Values there{1, 0, 1, 1, 0, 0, 0, 0};  // nothing of the second sample's memory

  const auto expected = [&](bool padded, double slope = 0) {
    Values result;
    for (std::size_t b = 0; b < 2; ++b) {
      std::vector<Values> kv;
      std::vector<double> place;
      for (std::size_t o = 0; o < others; ++o)
        if (!padded || there[b * others + o] != 0) {
          kv.push_back(affine(&m[(b * others + o) * memory_width], r["layer/memory/weight"], r["layer/memory/bias"]));
          place.push_back(static_cast<double>(o));
        }
      for (std::size_t p = 0; p < positions; ++p) {
        const Values q = affine(&x[(b * positions + p) * width], r["layer/query/weight"], r["layer/query/bias"]);
        const Values mixed = mixed_by_head(q, columns(kv, 0, width), columns(kv, width, width), heads,
                                           [&](double score, std::size_t, std::size_t o) { return score - slope * place[o]; });
        const Values y = affine(mixed.data(), r["layer/output/weight"], r["layer/output/bias"]);
        result.insert(result.end(), y.begin(), y.end());
      }
    }
    return result;
  };
  const Values of_all = r.result_of(all, 2, {x, m, there}), of_some = r.result_of(some, 2, {x, m, there});
  expect_near(of_all, expected(false));
  expect_near(of_some, expected(true));
  expect_near(r.result_of(nearer_of_all, 2, {x, m, there}), expected(false, 1));
  expect_near(r.result_of(nearer_of_some, 2, {x, m, there}), expected(true, 1));
}

TEST(CrossAttention, RefusesWhatIsNoMemory) {
  Recorded r({5, 6});
  const nn::CrossAttention layer(Scope(r.tape.parameters) / "layer", 6, 4, 2);
  const Var flat = input(r.tape, Shape::per_sample({4}), DType::f32);
  const Var memory = input(r.tape, Shape::per_sample({7, 4}), DType::f32);
  EXPECT_EQ(error_of<ShapeError>([&] { layer(r.x, flat); }), "attention: needs [batch, positions, width], got [batch, 4]");
  EXPECT_EQ(error_of<ShapeError>([&] { layer(r.x, memory, flat); }),
            "attention: `present` for [batch, 7, 4] must be [batch, 7], got [batch, 4]");
}

TEST(MultiHeadAttention, RefusesScoresOfAnotherShape) {
  Recorded r({5, 6});
  const nn::MultiHeadAttention layer(Scope(r.tape.parameters) / "layer", 6, 2);
  EXPECT_EQ(error_of<ShapeError>([&] { layer(r.x, {}, [](Var scores, Var) { return sum(scores, {1}); }); }),
            "attention: scores [batch, 2, 5, 5] were changed to [batch, 5, 5] (after layer 'layer/input')");
}

TEST(MultiHeadAttention, RefusesHeadsThatDoNotDivideTheWidth) {
  Recorded r({5, 6});
  const nn::MultiHeadAttention layer(Scope(r.tape.parameters) / "layer", 6, 4), none(Scope(r.tape.parameters) / "none", 6, 0);
  EXPECT_EQ(error_of<ShapeError>([&] { layer(r.x); }),
            "attention: a width of 6 cannot be split evenly among 4 heads (after layer 'layer/input')");
  EXPECT_EQ(error_of<ShapeError>([&] { none(r.x); }),
            "attention: a width of 6 cannot be split evenly among 0 heads (after layer 'none/input')");
}

}  // namespace attention_test
