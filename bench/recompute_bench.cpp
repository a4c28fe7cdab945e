// What keeping fewer activations costs: bytes and time in budgets of 100, 70, 50 and 35% of the plain transient bytes, on a
// deep perceptron and a deep convolutional net. Rounds are interleaved; every share must end in the same bits.
#include <array>
#include <cstdio>
#include <cstring>
#include <utility>

#include "nets.hpp"

using namespace nets;

namespace {

constexpr auto optimizer = Accumulate{Adam{}};

/// The name of one of several equal layers.
constexpr Name layer(std::size_t i) {
  Name name;
  name << "layer" << static_cast<int>(i);
  return name;
}

/// 20 layers of 96.
struct Perceptron {
  static constexpr const char* name = "20 layers of 96, batch 128";
  static constexpr std::int64_t batch = 128, pixels = 32, steps = 30;
  std::array<nn::Linear, 19> layers;
  nn::Linear output;
  constexpr explicit Perceptron(Scope s) : Perceptron(s, std::make_index_sequence<19>{}) {}
  constexpr Loss loss(Var x, Var label) const {
    for (const nn::Linear& linear : layers) x = relu(linear(x));
    return {cross_entropy(output(x), label)};
  }

 private:
  template <std::size_t... I>
  constexpr Perceptron(Scope s, std::index_sequence<I...>)
      : layers{nn::Linear(s / layer(I).view(), I == 0 ? pixels : 96, 96)...}, output(s / "output", 96, 10) {}
};

/// 10 convolutions of 3 × 3 with 8 channels, pooled at the end.
struct Images {
  static constexpr const char* name = "10 convolutions of 8 channels at 64x64, batch 8";
  static constexpr std::int64_t batch = 8, pixels = 64 * 64, steps = 4;
  std::array<nn::Conv2d, 10> layers;
  nn::Linear output;
  constexpr explicit Images(Scope s) : Images(s, std::make_index_sequence<10>{}) {}
  constexpr Loss loss(Var x, Var label) const {
    x = reshape(x, Shape::per_sample({1, 64, 64}));
    for (const nn::Conv2d& convolution : layers) x = relu(convolution(x));
    return {cross_entropy(output(mean(x, {2, 3})), label)};
  }

 private:
  template <std::size_t... I>
  constexpr Images(Scope s, std::index_sequence<I...>)
      : layers{nn::Conv2d(s / layer(I).view(), I == 0 ? 1 : 8, 8, 3, {.padding = 1})...}, output(s / "output", 8, 10) {}
};

template <class Model>
struct Measured {
  const std::vector<float> x = numbers(static_cast<std::size_t>(Model::batch * Model::pixels), 1);
  const std::vector<std::int32_t> y = std::vector<std::int32_t>(static_cast<std::size_t>(Model::batch), 3);
  std::vector<double> times;
  std::vector<std::byte> parameters;

  template <class Net>
  void round() {
    Session session(Net{}, optimizer, {.global_batch = Model::batch});
    for (std::int64_t i = 0; i < Model::steps; ++i) times.push_back(seconds([&] { session.accumulate(x, y); }));
    parameters.assign(session.parameter_bytes().begin(), session.parameter_bytes().end());
  }
};

/// The share that computes the least again of those that fit; 0 where none does.
template <class Net, int First, int... Rest>
constexpr int share_for(std::int64_t transient) {
  if (Net::template Keeping<First>::training_memory(optimizer, Net::batch).transient() <= transient) return First;
  if constexpr (sizeof...(Rest) > 0) return share_for<Net, Rest...>(transient);
  else return 0;
}

/// The fewest transient bytes that one of the shares needs.
template <class Net, int... Share>
constexpr std::int64_t least() {
  return std::min({Net::template Keeping<Share>::training_memory(optimizer, Net::batch).transient()...});
}

template <class Model>
struct NetFor : Compiled<Model, Inputs<f32[static_cast<std::size_t>(Model::pixels)], i32>> {
  static constexpr std::int64_t batch = Model::batch;
};

template <class Model>
void compare() {
  using Plain = NetFor<Model>;
  constexpr std::int64_t plain = Plain::training_memory(optimizer, Model::batch).transient();
  std::array<Measured<Model>, 4> measured;
  constexpr std::array percents = {100, 70, 50, 35};
  std::array<int, 4> shares{};
  const auto each = [&](auto f) {
    [&]<std::size_t... I>(std::index_sequence<I...>) { (f(std::integral_constant<std::size_t, I>{}), ...); }(std::make_index_sequence<4>{});
  };
  for (int round = 0; round < 5; ++round)
    each([&](auto i) {
      constexpr int share = share_for<Plain, 100, 70, 60, 50, 40, 30, 20>(plain * percents[i()] / 100);
      shares[i()] = share;
      if constexpr (share > 0) measured[i()].template round<typename Plain::template Keeping<share>>();
    });
  std::printf("\n%s: %lld transient bytes\n%8s %6s %12s %8s %8s %10s\n", Model::name, static_cast<long long>(plain), "budget",
              "kept", "bytes", "of them", "time", "same bits");
  each([&](auto i) {
    if (shares[i()] == 0) {
      constexpr std::int64_t bytes = least<Plain, 100, 70, 60, 50, 40, 30, 20>();
      std::printf("%7d%%  cannot be had: the least is %lld, %.1f%%\n", percents[i()], static_cast<long long>(bytes),
                  100.0 * static_cast<double>(bytes) / static_cast<double>(plain));
      return;
    }
    constexpr int share = share_for<Plain, 100, 70, 60, 50, 40, 30, 20>(plain * percents[i()] / 100);
    constexpr std::int64_t bytes = Plain::template Keeping<share == 0 ? 100 : share>::training_memory(optimizer, Model::batch).transient();
    std::printf("%7d%% %5d%% %12lld %7.1f%% %8.2f %10s\n", percents[i()], share, static_cast<long long>(bytes),
                100.0 * static_cast<double>(bytes) / static_cast<double>(plain), median(measured[i()].times) / median(measured[0].times),
                measured[i()].parameters == measured[0].parameters ? "yes" : "NO");
  });
}

}  // namespace

int main() {
  compare<Perceptron>();
  compare<Images>();
}
