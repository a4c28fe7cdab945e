// Activations that are computed again instead of being kept: less memory, the same bits.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <utility>

#include "../models.hpp"

using namespace models;

namespace {

/// 20 layers of 96, with dropout, a skip and a normalisation inside.
struct Deep {
  nn::Linear first, last;
  std::array<nn::Linear, 18> middle;
  template <std::size_t... I>
  constexpr Deep(Scope s, std::index_sequence<I...>)
      : first(s / "first", 9, 96), last(s / "last", 96, 5), middle{layer(s, I)...} {}
  constexpr explicit Deep(Scope s) : Deep(s, std::make_index_sequence<18>{}) {}
  static constexpr nn::Linear layer(Scope s, std::size_t i) {
    Name name;
    name << "layer" << static_cast<int>(i);
    return nn::Linear(s / name.view(), 96, 96);
  }
  constexpr Var predict(Var x) const {
    x = relu(first(x));
    for (std::size_t i = 0; i < middle.size(); ++i) {
      const Var before = x;
      x = tanh(middle[i](x));
      if (i == 4) x = dropout(x, 0.2);
      if (i == 9) x = x + before;
      if (i == 13) x = x - broadcast(mean(x, {-1}, true), x.shape());
    }
    return last(x);
  }
  constexpr Loss loss(Var x, Var label) const { return {cross_entropy(predict(x), label)}; }
};
using DeepNet = Compiled<Deep, Inputs<f32[9], i32>>;

constexpr auto optimizer = Accumulate{Adam{.learning_rate = 0.01f}};

template <class Net>
std::vector<std::byte> trained(double* seconds = nullptr) {
  const auto x = numbers(256 * 9);
  const auto y = labels(256, 5);
  Session session(Net{}, optimizer, {.global_batch = 128, .micro_batch = 60, .seed = 3});
  session.accumulate(x, y);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 3; ++i) session.accumulate(x, y);
  if (seconds != nullptr) *seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::vector<std::byte> all(session.parameter_bytes().begin(), session.parameter_bytes().end());
  all.insert(all.end(), session.optimizer_state_bytes().begin(), session.optimizer_state_bytes().end());
  return all;
}

TEST(Recompute, KeepsEveryBitAndNeedsLess) {
  double seconds = 0, plain = 0;
  const std::vector<std::byte> whole = trained<DeepNet>(&plain);
  const std::int64_t bytes = DeepNet::Training::plan.bytes(128);
  std::printf("segments  transient bytes  of the plain plan  time\n%8d %16lld %18.2f %5.2f\n", 1, static_cast<long long>(bytes), 1.0, 1.0);
  const auto check = [&]<int Segments>(std::integral_constant<int, Segments>, double most) {
    using Net = DeepNet::InSegments<Segments>;
    EXPECT_EQ(differing_bits(whole, trained<Net>(&seconds)), 0) << Segments;
    const double ratio = static_cast<double>(Net::Training::plan.bytes(128)) / static_cast<double>(bytes);
    std::printf("%8d %16lld %18.2f %5.2f\n", Segments, static_cast<long long>(Net::Training::plan.bytes(128)), ratio, seconds / plain);
    EXPECT_LE(ratio, most) << Segments;
  };
  check(std::integral_constant<int, 2>{}, 0.7);
  check(std::integral_constant<int, 5>{}, 0.5);
}

TEST(Recompute, SmallNetsToo) {
  EXPECT_EQ(differing_bits(trained<DroppedNet>(), trained<DroppedNet::InSegments<2>>()), 0);
  EXPECT_EQ(differing_bits(trained<ClassifierNet>(), trained<ClassifierNet::InSegments<9>>()), 0);
}

}  // namespace
