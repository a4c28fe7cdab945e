// Sums of paddings that lie side by side, on eager tapes: the bits of adding them all up, without the memory for that.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <set>

#include <gradual/autodiff/reference.hpp>

#include "../both_ways.hpp"

namespace eager_joins_test {
using namespace gradual;

constexpr int samples = 2, places = 29;

/// Returns two samples of [29, 3]: zeros of both signs and numbers.
template <class T>
std::vector<T> some_zeros() {
  std::vector<T> x(samples * places * 3, T(-0.0));
  for (std::size_t i = 0; i < x.size(); i += 2) x[i] = static_cast<T>(i % 7) - 3;
  return x;
}

/// Leaves NaN in the memory that later values will get.
template <class T>
void leave_nan_in(const Device& device) {
  const std::vector<T> nan(samples * places * 3, math::quiet_nan<T>());
  std::vector<Tensor> tensors;
  for (std::size_t size = 1; size <= nan.size(); size += size / 4 + 1)
    for (int k = 0; k < 8; ++k)
      tensors.push_back(Tensor::from(device, std::span(nan).first(size), {static_cast<std::int64_t>(size)}));
}

/// Compares f(x) with the reference, on a tape that runs each op at once and on one that defers them, as in a session. If f
/// returns several values, they are requested in that order. Returns how many nodes fewer the reference has.
template <class T = float, class F>
int expect_bits_of_all(F f) {
  const std::vector<T> x = some_zeros<T>();
  Tape written;
  written.real = dtype_of<T>;
  const std::vector<Var> wanted = f(input(written, Shape::per_sample({places, 3}), dtype_of<T>));
  const Reference<T> reference(written, samples, {x}, {});
  int more = 0;
  for (const bool noting : {false, true}) {
    const Device device = Device::cpu();
    leave_nan_in<T>(device);
    EagerTape run(device);
    run.real = dtype_of<T>;
    run.begin(0, samples, samples, noting);
    const std::vector<Var> values = f(run.input(x, {places, 3}));
    more = values[0].id - wanted[0].id;
    for (std::size_t v = 0; v < values.size(); ++v) {
      const Tensor result = value(values[v]);
      const auto numbers = result.template values<T>();
      const auto& expected = reference[wanted[v].id];
      if (numbers.size() != expected.size()) ADD_FAILURE() << numbers.size() << " elements for " << expected.size();
      else
        for (std::size_t i = 0; i < numbers.size(); ++i)
          EXPECT_EQ(std::memcmp(&numbers[i], &expected[i], sizeof(T)), 0)
              << (noting ? "noted, value " : "run, value ") << v << ", element " << i << ": " << numbers[i] << ", not "
              << expected[i];
    }
  }
  return more;
}

/// Returns the gradient of x through slices of `width`, in mixed order, and through another use if there is one.
std::vector<Var> given_by_slices(Var x, bool other_use, int width) {
  Var y;
  for (int i = 0; i < 9; ++i) {
    const int t = i * 4 % 9;  // every third place from 1 on
    const double weight[] = {-0.0, 0.0, t - 3.5};
    const Var piece = sum(weight[t % 3] * slice(x, 1, 1 + 3 * t, width), {1, 2});
    y = i == 0 ? piece : y + piece;
  }
  if (other_use) y = y + sum(-0.0 * x, {1, 2});
  return {gradients(y, {x})[0]};
}

TEST(EagerJoins, OfWhatSlicesGive) {
  for (const bool other_use : {false, true}) {  // joined pair by pair: more, but smaller additions
    EXPECT_GE(expect_bits_of_all([&](Var x) { return given_by_slices(x, other_use, 3); }), 5);  // side by side
    EXPECT_GE(expect_bits_of_all([&](Var x) { return given_by_slices(x, other_use, 1); }), 5);  // apart
    expect_bits_of_all([&](Var x) { return given_by_slices(x, other_use, 4); });                // overlapping
  }
  expect_bits_of_all<double>([](Var x) { return given_by_slices(x, false, 3); });
}

std::vector<Var> parts_of(Var x, int count) {
  std::vector<Var> parts;
  for (int t = 0; t < count; ++t) parts.push_back(t % 3 == 0 ? slice(x, 1, 2 * t, 1 + t % 4) : -slice(x, 1, 2 * t, 1 + t % 4));
  return parts;
}

TEST(EagerJoins, OfParts) {
  EXPECT_GE(expect_bits_of_all([](Var x) { return std::vector{concat(parts_of(x, 9), 1)}; }), 5);
  expect_bits_of_all([](Var x) { return std::vector{concat(parts_of(x, 3), 1)}; });
  expect_bits_of_all<double>([](Var x) { return std::vector{concat(parts_of(x, 9), 1)}; });
}

TEST(EagerJoins, OfJoins) {
  expect_bits_of_all([](Var x) {
    const Var a = concat(parts_of(x, 4), 1), b = concat({a, slice(x, 1, 0, 2)}, 1);
    const Var turned = concat({b, sqrt(b), b * b}, 2);  // along another axis, of which one part is read again
    return std::vector{concat({turned, turned}, 1), a, b};
  });
  expect_bits_of_all([](Var x) {  // that nothing else reads, along one axis and along two
    const auto square = [&](int first) { return concat({slice(x, 1, first + 3, 2), slice(x, 1, first, 1)}, 1); };
    return std::vector{concat({square(0), square(6)}, 1), concat({square(0), square(6)}, 2)};
  });
}

/// Returns the partial sums of adding up, one by one, padded slices from these places.
std::vector<Var> added_up(Var x, int width, double zero, std::initializer_list<int> first = {0, 3, 6, 9, 12}, int all = 15) {
  std::vector<Var> sums;
  for (const int t : first) {
    const Var piece = pad(slice(x, 1, t, width), 1, t, all - t - width, zero);
    sums.push_back(sums.empty() ? piece : sums.back() + piece);
  }
  return sums;
}

TEST(EagerJoins, OfSumsThatAreWritten) {
  for (const double zero : {0.0, -0.0}) {
    const auto expect = [&](int width, std::initializer_list<int> first, int all) {
      expect_bits_of_all([&](Var x) { return std::vector{added_up(x, width, zero, first, all).back()}; });
    };
    expect(3, {0, 3, 6, 9, 12}, 15);
    expect(3, {12, 9, 6, 3, 0}, 15);
    expect(3, {6, 0, 12, 9, 3}, 15);
    expect(2, {0, 3, 6, 9, 12}, 14);  // places that none fills, in between,
    expect(3, {1, 4, 7}, 10);         // before
    expect(3, {0, 3, 6}, 10);         // and behind
    expect(4, {0, 3, 6}, 10);         // and places that two fill
    expect_bits_of_all([&](Var x) {  // a join that is padded with other zeros
      const Var joined = pad(added_up(x, 3, zero).back(), 1, 0, 3, -zero);
      return std::vector{joined + pad(slice(x, 1, 2, 3), 1, 15, 0, -zero)};
    });
  }
}

TEST(EagerJoins, WhosePartsAreAskedForToo) {
  expect_bits_of_all([](Var x) {  // when the join has been made
    const std::vector<Var> sums = added_up(x, 3, 0.0);
    return std::vector{sums[4], sums[2], sums[0], sums[3]};
  });
  expect_bits_of_all([](Var x) {  // by what else is computed
    const std::vector<Var> sums = added_up(x, 3, 0.0);
    return std::vector{sums[4] * sin(sums[2]) + sums[0], sums[1]};
  });
  expect_bits_of_all([](Var x) {  // before, in the same sum
    const Var first = pad(slice(x, 1, 0, 3), 1, 0, 3, 0.0), rest = pad(slice(x, 1, 4, 3), 1, 3, 0, 0.0);
    return std::vector{(first + rest) + first, first + first};
  });
}

TEST(EagerJoins, AreNoneWherePaddingsAreNotOfOneZero) {
  for (const double other : {0.5, -0.0})
    expect_bits_of_all([&](Var x) {
      const Var a = pad(slice(x, 1, 0, 3), 1, 0, 3, 0.0), b = pad(slice(x, 1, 4, 3), 1, 3, 0, other);
      return std::vector{a + b};
    });
  expect_bits_of_all([](Var x) {  // along two axes, as if side by side along the first
    const Var square = reshape(slice(x, 1, 0, 28), Shape::per_sample({12, 7}));
    const Var a = pad(slice(square, 1, 0, 3), 1, 0, 3, 0.0), b = pad(slice(slice(square, 1, 0, 6), 2, 0, 4), 2, 3, 0, 0.0);
    return std::vector{a + b};
  });
}

TEST(EagerJoins, OfSixteenBits) {
  const std::vector<float> x = some_zeros<float>();
  std::vector<float> bits[2];
  for (const bool noting : {false, true}) {
    EagerTape tape(Device::cpu());
    tape.begin(0, samples, samples, noting);
    const Var in = convert(tape.input(x, {places, 3}), DType::bf16);
    const Tensor whole = value(convert(concat({slice(in, 1, 0, 9), slice(in, 1, 9, 20)}, 1), DType::f32));
    bits[noting].assign(whole.values<float>().begin(), whole.values<float>().end());
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(bits[0][i]), std::bit_cast<std::uint32_t>(x[i])) << i;
    EXPECT_EQ(std::bit_cast<std::uint32_t>(bits[1][i]), std::bit_cast<std::uint32_t>(x[i])) << i;
  }
}

TEST(EagerJoins, OfSamplesThatAreNotOutermost) {
  expect_bits_of_all([](Var x) {
    const Var turned = transpose(x, {1, 0, 2});  // places, samples, 3
    const Var joined = concat({slice(turned, 0, 3, 5), slice(turned, 0, 0, 2), slice(turned, 2, 0, 3)}, 0);
    return std::vector{transpose(joined, {1, 0, 2})};
  });
}

TEST(EagerJoins, TakeNoMemoryForPaddings) {
  constexpr int parts = 32, width = 1024;
  const auto x = models::numbers(parts * width);
  const auto padded = [](Var part, int t) { return pad(part, 1, t, parts - 1 - t, -0.0); };
  const auto in_order = [&](const std::vector<Var>& rows) {
    Var whole = padded(rows[0], 0);
    for (int t = 1; t < parts; ++t) whole = whole + padded(rows[static_cast<std::size_t>(t)], t);
    return whole;
  };
  const auto from_the_end = [&](const std::vector<Var>& rows) {
    Var whole = padded(rows.back(), parts - 1);
    for (int t = parts - 2; t >= 0; --t) whole = whole + padded(rows[static_cast<std::size_t>(t)], t);
    return whole;
  };
  const auto in_pairs = [](const std::vector<Var>& rows) { return concat(rows, 1); };
  const auto expect = [&](auto join) {
    EagerTape tape(Device::cpu(3 * parts * width * 4));  // the parts, and the whole with room to spare
    tape.begin(0, 1, 1, true);
    const Var in = tape.input(x, {parts, width});
    std::vector<Var> rows;
    for (int t = 0; t < parts; ++t) rows.push_back(-slice(in, 1, parts - 1 - t, 1));
    const Tensor whole = value(join(rows));
    EXPECT_EQ(whole.values<float>()[0], -x[(parts - 1) * width]);
  };
  expect(in_order);
  expect(from_the_end);
  expect(in_pairs);
}

/// Drops elements of joins: of parts, and of a derivative by slices.
struct DropsOfJoins {
  nn::Linear layer;
  constexpr explicit DropsOfJoins(Scope s) : layer(s / "layer", 9, 9) {}
  constexpr Loss loss(Var x) const {
    const Var h = layer(x);
    std::vector<Var> parts;
    Var y;
    for (int i = 0; i < 9; ++i) {
      parts.push_back(slice(h, 1, 8 - i, 1));
      const Var more = (i + 1.0) * sum(square(parts.back()), {1});
      y = i == 0 ? more : y + more;
    }
    const Var joined = dropout(concat(parts, 1), 0.5), slope = dropout(gradients(y, {h})[0], 0.25);
    const Var of_all = dropout(gradients(y + sum(square(h), {1}), {h})[0], 0.125);  // and by more than slices
    return {mean_per_sample(square(joined) + square(slope) + square(of_all))};
  }
};

TEST(EagerJoins, DropWhatACompiledNetDrops) {
  const both_ways::Samples<float> x{models::numbers(both_ways::samples * 9), {9}};
  const auto compiled = both_ways::train_compiled<Compiled<DropsOfJoins, Inputs<f32[9]>>>({60}, 1, x);
  EXPECT_EQ(both_ways::train_eager<DropsOfJoins>({60}, x), compiled);
}

TEST(EagerJoins, OfOtherShapesAreDroppedByOtherDraws) {
  Tape tape;
  const Var x = input(tape, Shape::per_sample({3}), DType::f32), longer = pad(x, 1, 0, 2, 0.0);
  const Var values[] = {longer, pad(x, 1, 0, 3, 0.0), pad(x, 1, 1, 2, 0.0), pad(longer, 1, 0, 1, 0.5)};
  std::set<std::uint64_t> keys;
  for (const Var v : values) keys.insert(value_key(tape, v.id));
  EXPECT_EQ(keys.size(), std::size(values));
  EXPECT_EQ(value_key(tape, pad(longer, 1, 0, 1, 0.0).id), value_key(tape, values[1].id)) << "the same numbers";
}

/// A part of a join is a metric.
struct MetricOfAPart {
  nn::Linear layer;
  constexpr explicit MetricOfAPart(Scope s) : layer(s / "layer", 9, 3) {}
  constexpr Loss loss(Var x) const {
    const Var h = tanh(layer(x)), a = slice(h, 1, 0, 1), b = slice(h, 1, 1, 1), c = slice(h, 1, 2, 1);
    const Var first = pad(square(a), 1, 0, 2) + pad(b, 1, 1, 1);
    return {first + pad(c, 1, 2, 0), metric("first", first)};
  }
};

TEST(EagerJoins, KeepPartsThatAreAskedFor) {
  const both_ways::Samples<float> x{models::numbers(both_ways::samples * 9), {9}};
  const auto compiled = both_ways::train_compiled<Compiled<MetricOfAPart, Inputs<f32[9]>>>({60}, 1, x);
  EXPECT_EQ(both_ways::train_eager<MetricOfAPart>({60}, x), compiled);
}

}  // namespace eager_joins_test
