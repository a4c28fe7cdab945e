// Loops over rows that are computed from copies, since their elements would not fill vectors where they lie: the same bits as
// the reference, for everything that may be copied.
#include <gtest/gtest.h>

#include <utility>

#include "../compiled_against_reference.hpp"

namespace staged_rows_test {

using namespace against_reference;

/// Returns how many kernels of P copy one row at a time, or several.
template <class P>
constexpr int staged(Staging staging) {
  return [&]<int... G>(std::integer_sequence<int, G...>) {
    const auto is_one = [&]<int g>(std::integral_constant<int, g>) {
      if constexpr (P::template group<g>.kind == Kind::map) return cpu::StagedRows<P, g>::staging == staging ? 1 : 0;
      else return 0;
    };
    return (is_one(std::integral_constant<int, G>{}) + ...);
  }(std::make_integer_sequence<int, P::schedule.group_count>{});
}

/// Rows of five numbers and, transposed, of seven; joined, padded, cut out and repeated ones.
template <class Real>
struct Rows {
  nn::Linear after;
  Parameter scale, bias;
  constexpr explicit Rows(Scope s)
      : after(s / "after", 5, 2), scale(s.parameter("scale", Shape{7, 5}, init::uniform(1))),
        bias(s.parameter("bias", Shape{5}, init::uniform(1))) {}
  constexpr Loss loss(Var x) const {
    const Var y = x * scale, turned = transpose(y, {0, 2, 1});
    const Var some[] = {tanh(concat({y, slice(y, 2, 1, 2)}, 2)), silu(pad(y, 2, 1, 2, 0.5)), gelu(turned),
                        sigmoid(y * slice(y, 2, 0, 1)), exp(turned - 0.25 * convert(iota(turned, 2), turned.dtype())),
                        tanh(dropout(turned, 0.25)), sin(normal_like(y) * y)};
    Var all = sum(square(after(gelu(y + bias))), {1, 2});
    for (const Var rows : some) all += sum(square(rows), {1, 2}) + 0.5 * sum(max(rows, {2}), {1});
    return {all};
  }
};

template <class Real>
using RowsNet = Compiled<Rows<Real>, Inputs<Real[7][5]>>;

TEST(StagedRows, OfEveryOrigin) {
  using P = RowsNet<float>::Training;
  static_assert(staged<P>(Staging::rows) > 15 && staged<P>(Staging::row) > 0);
  const auto x = numbers(samples * 35);
  expect_equal_bits<RowsNet<float>>({x}, std::span(x));
}

TEST(StagedRows, InDouble) {
  const auto x = numbers_in<double>(samples * 35);
  expect_equal_bits<RowsNet<double>>({x}, std::span(x));
}

/// Rows of ten that are put together from eight, between rows that are padding, and values of parameters alone.
struct Joined {
  Parameter scale;
  constexpr explicit Joined(Scope s) : scale(s.parameter("scale", Shape{8, 10}, init::uniform(1))) {}
  constexpr Loss loss(Var x) const {
    std::vector<Var> rows;
    for (int r = 0; r < 8; ++r) rows.push_back(tanh(slice(x * scale, 1, 7 - r, 1)) * (1.0 + r));
    const Var joined = pad(concat(rows, 1), 1, 1, 2, 0.5), weight = gelu(scale.on(x));
    return {sum(exp(-joined), {1, 2}) + sum(square(silu(pad(x, 1, 2, 1, 0.25))), {1, 2}) + sum(max(x * weight, {2}), {1})};
  }
};
using JoinedNet = Compiled<Joined, Inputs<f32[8][10]>>;

TEST(StagedRows, OfJoinsAndPadding) {
  const auto x = numbers(samples * 80);
  expect_equal_bits<JoinedNet>({x}, std::span(x));
}

TEST(StagedRows, InPartsOfAnySize) {
  const auto x = numbers(samples * 35);
  const auto sums = [&](std::span<const std::size_t> parts, int threads) {
    Session session(RowsNet<float>{}, Accumulate{Idle<float>{}}, {.global_batch = samples, .seed = 3, .threads = threads});
    std::size_t at = 0;
    for (const std::size_t part : parts) session.accumulate(std::span(x).subspan(35 * std::exchange(at, at + part), 35 * part));
    const auto bytes = std::as_bytes(session.accumulator());
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  };
  const std::size_t whole[] = {samples}, parts[] = {1, 2, 77, 130, 1, 89};
  const auto at_once = sums(whole, 1);
  EXPECT_EQ(differing_bits(sums(parts, 1), at_once), 0);
  EXPECT_EQ(differing_bits(sums(whole, 2), at_once), 0);
}

/// Rows of more columns than are copied at once, whose values are kept, summed, and searched for the largest.
struct LongRows {
  Parameter scale;
  constexpr explicit LongRows(Scope s) : scale(s.parameter("scale", Shape{75}, init::uniform(1))) {}
  constexpr Loss loss(Var x) const {
    const Var turned = transpose(x * scale, {0, 2, 1}), kept = tanh(turned), back = transpose(kept, {0, 2, 1});
    const Var place = argmax(back), chosen = where(place < constant_like(place, 40), max(back, {2}), min(x, {2}));
    return {sum(square(kept) * exp(-turned), {1, 2}) + sum(chosen, {1})};
  }
};

TEST(StagedRows, LongerThanWhatIsCopiedAtOnce) {
  using Net = Compiled<LongRows, Inputs<f32[3][75]>>;
  static_assert(staged<Net::Training>(Staging::row) > 1);
  const auto x = numbers(samples * 3 * 75);
  expect_equal_bits<Net>({x}, std::span(x));
}

/// Rows that leave one or several elements outside vectors, alone and in what is summed over the batch.
struct Widths {
  Parameter bias, weight;
  constexpr explicit Widths(Scope s)
      : bias(s.parameter("bias", Shape{63}, init::uniform(1))), weight(s.parameter("weight", Shape{63, 2}, init::uniform(1))) {}
  constexpr Loss loss(Var x) const {
    Var all;
    for (const int width : {1, 2, 3, 5, 6, 12, 18, 21, 63}) {
      const Var part = gelu(slice(x, 1, 63 - width, width) + slice(bias.on(x), 0, 0, width));
      const Var square_sum = sum(square(matmul(part, slice(weight.on(x), 0, 0, width))), {1});
      all = all.valid() ? all + square_sum : square_sum;
    }
    return {all};
  }
};

TEST(StagedRows, OfManyWidths) {
  using Net = Compiled<Widths, Inputs<f32[63]>>;
  static_assert(staged<Net::Training>(Staging::rows) > 20);
  const auto x = numbers(samples * 63);
  expect_equal_bits<Net>({x}, std::span(x));
}

/// Rows of which so much would be copied that vectors run over rows instead.
struct Classes {
  Parameter scale;
  constexpr explicit Classes(Scope s) : scale(s.parameter("scale", Shape{10}, init::uniform(1))) {}
  constexpr Loss loss(Var x, Var label) const { return {cross_entropy(x * scale, label)}; }
};

TEST(StagedRows, SideBySide) {
  const auto x = numbers(samples * 10);
  const auto y = labels(samples, 10);
  expect_equal_bits<Compiled<Classes, Inputs<f32[10], i32>>>({x, {y.begin(), y.end()}}, std::span(x), std::span(y));
}

}  // namespace staged_rows_test
