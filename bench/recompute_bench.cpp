// The cost of keeping fewer activations: bytes, FLOP and time in budgets of 100, 70, 50 and 35% of the plain transient
// bytes, on a deep perceptron and a deep convolutional net, compared with the fewest FLOP that any choice of cuts needs in
// the same space and with the square-root rule. Rounds are interleaved; every share must end in the same bits.
#include <array>
#include <cstdio>
#include <utility>

#include "../tests/optimal_cuts.hpp"
#include "nets.hpp"

using namespace nets;

namespace {

constexpr auto optimizer = Accumulate{Adam{}};

/// Returns the name of the `i`th of several equal layers.
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

constexpr std::array shares = {100, 85, 70, 60, 50, 45, 40, 35, 30, 25, 20, 10, 1};

/// Returns the share that recomputes the least of those that fit; 0 if none does.
template <class Net, std::size_t I = 0>
constexpr int share_for(std::int64_t transient) {
  if constexpr (I == shares.size())
    return 0;
  else if (Net::template Keeping<shares[I]>::training_memory(optimizer, Net::batch).transient() <= transient)
    return shares[I];
  else
    return share_for<Net, I + 1>(transient);
}

template <class Model>
struct NetFor : Compiled<Model, Inputs<f32[static_cast<std::size_t>(Model::pixels)], i32>> {
  static constexpr std::int64_t batch = Model::batch;
};

double percent(std::int64_t part, std::int64_t of) {
  return 100.0 * static_cast<double>(part) / static_cast<double>(of);
}

template <class Model>
void compare() {
  using Plain = NetFor<Model>;
  constexpr std::int64_t plain = Plain::training_memory(optimizer, Model::batch).transient();
  constexpr std::int64_t flops = flops_per_sample<typename Plain::Training>();
  constexpr std::array percents = {100, 70, 50, 35};
  std::array<Measured<Model>, percents.size()> measured;
  const auto each = [&](auto f) {
    [&]<std::size_t... I>(std::index_sequence<I...>) { (f(std::integral_constant<std::size_t, I>{}), ...); }
    (std::make_index_sequence<percents.size()>{});
  };
  for (int round = 0; round < 5; ++round)
    each([&](auto i) {
      constexpr int share = share_for<Plain>(plain * percents[i()] / 100);
      if constexpr (share > 0) measured[i()].template round<typename Plain::template Keeping<share>>();
    });

  const Tape tape = thaw(Plain::Training::graph);
  std::printf("\n%s: %lld transient bytes\n%8s %6s %12s %8s %11s %9s %6s %10s\n", Model::name,
              static_cast<long long>(plain), "budget", "kept", "bytes", "of them", "FLOP again", "at least", "time",
              "same bits");
  each([&](auto i) {
    constexpr int share = share_for<Plain>(plain * percents[i()] / 100);
    if constexpr (share == 0) {
      std::printf("%7d%%  cannot be had\n", percents[i()]);
    } else {
      using Net = typename Plain::template Keeping<share>;
      constexpr std::int64_t bytes = Net::training_memory(optimizer, Model::batch).transient();
      const CutChoice choice = detail::Recomputer(tape, share).choice();
      std::printf("%7d%% %5d%% %12lld %7.1f%% %10.1f%% %8.1f%% %6.2f %10s\n", percents[i()], share,
                  static_cast<long long>(bytes), percent(bytes, plain),
                  percent(flops_per_sample<typename Net::Training>() - flops, flops),
                  percent(optimal_cuts::Optimum(choice.cuts()).work(choice.most()), flops),
                  median(measured[i()].times) / median(measured[0].times),
                  measured[i()].parameters == measured[0].parameters ? "yes" : "NO");
    }
  });
  const CutChoice all = detail::Recomputer(tape, 100).choice();
  const optimal_cuts::SquareRootRule rule(all.cuts());
  const CutChoice same(all.cuts(), rule.most);
  std::printf(
      "square-root rule: %.1f%% of what backward reads is there at once, %.1f%% of the FLOP again; here %.1f%% in its "
      "room\n",
      percent(rule.most, all.cuts().back().saved), percent(rule.work, flops),
      percent(same.repeated(0, same.end(), same.most()), flops));
}

}  // namespace

int main() {
  compare<Perceptron>();
  compare<Images>();
}
