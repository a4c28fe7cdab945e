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

constexpr std::int64_t persistent = DeepNet::training_memory(optimizer, 128).persistent();
constexpr std::int64_t plain = DeepNet::training_memory(optimizer, 128).transient();

/// The net that fits `Percent` of the transient bytes that the plain one needs for 128 samples.
template <std::int64_t Percent>
using Saving = WithinBudget<DeepNet, Accumulate<Adam>, 128, persistent + plain * Percent / 100>;

static_assert(std::is_same_v<Saving<100>, DeepNet>);

TEST(Recompute, KeepsEveryBitInAnyBudget) {
  double first = 0;
  const std::vector<std::byte> whole = trained<DeepNet>(&first);
  std::printf("budget  transient bytes  kept at once  time\n");
  const auto check = [&]<std::int64_t Percent>(std::integral_constant<std::int64_t, Percent>) {
    using Net = Saving<Percent>;
    const std::int64_t bytes = Net::training_memory(optimizer, 128).transient();
    EXPECT_LE(bytes, plain * Percent / 100);
    std::printf("%5d%% %16lld %12d%%", static_cast<int>(Percent), static_cast<long long>(bytes), Net::kept);
    if constexpr (Percent == 40) {  // the others would only compile for long
      double seconds = 0;
      EXPECT_EQ(differing_bits(whole, trained<Net>(&seconds)), 0);
      std::printf(" %5.2f", seconds / first);
    }
    std::printf("\n");
  };
  check(std::integral_constant<std::int64_t, 70>{});
  check(std::integral_constant<std::int64_t, 50>{});
  check(std::integral_constant<std::int64_t, 40>{});
}

TEST(Recompute, SmallNetsToo) {
  EXPECT_EQ(differing_bits(trained<DroppedNet>(), trained<DroppedNet::Keeping<50>>()), 0);
  EXPECT_EQ(differing_bits(trained<ClassifierNet>(), trained<ClassifierNet::Keeping<1>>()), 0);
}

}  // namespace
