// Nets that go on from call to call: the code of the guide to streams.
#include <cmath>
#include <numbers>

#include "../documented.hpp"

namespace documented_streams_test {

using namespace documented;

constexpr Var error_to_signal(Var y, Var wanted) {
  const auto emphasized = [](Var v) {
    const std::int64_t rest = v.shape().extent[1] - 1;
    return slice(v, 1, 1, rest) - 0.95 * slice(v, 1, 0, rest);
  };
  return sum(square(emphasized(wanted - y)), {1}) / (sum(square(emphasized(wanted)), {1}) + 1e-5);
}

template <int steps>
struct Amplifier {
  nn::Gru gru;
  nn::Linear output;
  constexpr explicit Amplifier(Scope s) : gru(s / "gru", 1, 8), output(s / "output", 8, 1) {}
  constexpr Var predict(Var x, Var state) const {
    const std::vector<Var> states = gru(x, state);
    return concat({flatten(output(stack(states, 1)) + x), states.back()}, 1);
  }
  constexpr Loss loss(Var x, Var state, Var wanted) const {
    return {error_to_signal(slice(predict(x, state), 1, 0, steps), wanted)};
  }
};
template <int steps>
using Amp = Compiled<Amplifier<steps>, Inputs<f32[steps][1], f32[8], f32[steps]>>;

constexpr Var magnitudes(Var y, int size) {
  const Var like = constant_like(y, Shape{size / 2 + 1, 1, size}, 0);
  const Var t = convert(iota(like, 2), DType::f32), turns = convert(iota(like, 0), DType::f32) * t / size;
  const Var angle = 2 * std::numbers::pi * (turns - floor(turns)), bell = 0.5 - 0.5 * cos(2 * std::numbers::pi / size * t);
  const Var series = reshape(y, Shape::per_sample({1, y.shape().extent[1]}));
  const Var real = conv1d(series, bell * cos(angle), {.stride = size / 4});
  const Var imaginary = conv1d(series, bell * sin(angle), {.stride = size / 4});
  return sqrt(square(real) + square(imaginary) + 1e-7);
}

constexpr Var spectral(Var y, Var wanted) {
  Var sum = error_to_signal(y, wanted);
  for (int size = 16; size <= 32; size *= 2)
    sum += 0.1 * mae(log(magnitudes(y, size)), log(magnitudes(wanted, size)));
  return sum;
}

template <int steps>
struct Causal {
  nn::Conv1d input, output;
  std::vector<nn::Conv1d> layers;
  static constexpr int kept = 4 * (2 + 4 + 8);
  constexpr explicit Causal(Scope s) : input(s / "input", 1, 4, 1), output(s / "output", 4, 1, 1) {
    for (int l = 0; l < 3; ++l) layers.emplace_back(s / "layers" / l, 4, 4, 3, Walk{.dilation = 1 << l});
  }
  constexpr Var predict(Var x, Var state) const {
    Var h = input(x);
    std::vector<Var> next;
    for (int l = 0, at = 0; l < 3; ++l) {
      const int reach = 2 << l;
      const Var past = reshape(slice(state, 1, at, 4 * reach), Shape::per_sample({4, reach})), seen = concat({past, h}, 2);
      next.push_back(flatten(slice(seen, 2, steps, reach)));
      at += 4 * reach;
      h = h + tanh(layers[l](seen));
    }
    return concat({flatten(output(h)), concat(next, 1)}, 1);
  }
  constexpr Loss loss(Var x, Var state, Var wanted) const {
    return {spectral(slice(predict(x, state), 1, 0, steps), wanted)};
  }
};
template <int steps>
using Tcn = Compiled<Causal<steps>, Inputs<f32[1][steps], f32[Causal<steps>::kept], f32[steps]>>;

constexpr int samples = 256, recordings = 4;

/// Sound, one recording after another, and the output of an amplifier for it.
struct Streams : Documented {
  std::vector<float> sound, wanted;
  Streams() {
    for (int r = 0; r < recordings; ++r) {
      double low = 0;
      for (int t = 0; t < samples; ++t) {
        const double x = 0.5 * std::sin(0.07 * (r + 1) * t) * std::sin(0.01 * t);
        low += 0.2 * (std::tanh(5 * x) - low);
        sound.push_back(static_cast<float>(x));
        wanted.push_back(static_cast<float>(low));
      }
    }
  }
  /// Returns `count` samples of each recording, from `first` on.
  static std::vector<float> part(const std::vector<float>& of, int first, int count) {
    std::vector<float> result;
    for (int r = 0; r < recordings; ++r) result.insert(result.end(), &of[r * samples + first], &of[r * samples + first] + count);
    return result;
  }
  /// Returns the outputs for the first recording, played in blocks.
  template <class Net, int steps, int kept>
  std::vector<float> played(const auto& parameters) const {
    Inference<Net> play(parameters);
    std::vector<float> state(kept), both(steps + kept), out;
    for (int first = 0; first < samples; first += steps) {
      const auto block = std::span(sound).subspan(static_cast<std::size_t>(first), steps);
      play(block, state, both);
      std::ranges::copy(std::span(both).last(kept), state.begin());
      out.insert(out.end(), both.begin(), both.begin() + steps);
    }
    return out;
  }
};

TEST_F(Streams, LearnFromWindowsThatGoOn) {
  constexpr int epochs = 30;
  std::vector<double> losses;
  Session session(Amp<16>{}, optimizer, {.global_batch = recordings});
  std::vector<float> state(recordings * 8);
  for (int epoch = 0; epoch < epochs; ++epoch) {
    std::ranges::fill(state, 0.0f);
    for (int first = 0; first < samples; first += 16) {
      const std::vector<float> x = part(sound, first, 16), y = part(wanted, first, 16);
      const std::vector<float> both = session.predict(x, state);
      session.accumulate(x, state, y);
      for (int r = 0; r < recordings; ++r) std::copy_n(&both[r * (16 + 8) + 16], 8, &state[r * 8]);
    }
    losses.push_back(session.last_window().loss());
  }
  EXPECT_LT(losses.back(), 0.5 * losses.front());
  save_parameters("amp.safetensors", session.parameters());

  Inference<Amp<4>> play(load("amp.safetensors"));
  std::vector<float> block(4), now(8), both(4 + 8);
  std::vector<float> out;
  for (int first = 0; first < samples; first += 4) {
    std::copy_n(&sound[first], 4, block.begin());
    play(block, now, both);
    std::ranges::copy(std::span(both).first(4), block.begin());
    std::ranges::copy(std::span(both).last(8), now.begin());
    out.insert(out.end(), block.begin(), block.end());
  }
  const auto by_16 = played<Amp<16>, 16, 8>(session.parameters());
  EXPECT_EQ(out, by_16);

  Inference<Amp<4>> voices(session.parameters(), recordings);
  std::vector<float> of_all(recordings * (4 + 8));
  voices(part(sound, 0, 4), std::vector<float>(recordings * 8), of_all);
  for (std::size_t r = 0; r < recordings; ++r) {
    play(std::span(sound).subspan(r * samples, 4), std::vector<float>(8), both);
    EXPECT_TRUE(std::ranges::equal(std::span(of_all).subspan(r * (4 + 8), 4 + 8), both)) << r;
  }
}

TEST_F(Streams, ConvolveInBlocksOfAnyLength) {
  Session session(Tcn<64>{}, optimizer, {.global_batch = recordings});
  const std::vector<float> x = part(sound, 0, 64), y = part(wanted, 0, 64), state(recordings * Causal<64>::kept);
  std::vector<double> losses;
  for (int step = 0; step < 60; ++step) {
    session.accumulate(x, state, y);
    losses.push_back(session.last_window().loss());
  }
  EXPECT_LT(losses.back(), 0.5 * losses.front());
  const auto by_64 = played<Tcn<64>, 64, Causal<64>::kept>(session.parameters());
  EXPECT_EQ((played<Tcn<16>, 16, Causal<16>::kept>(session.parameters())), by_64);

  // The same in double, each layer over all that came before.
  const auto p = session.parameters();
  std::vector<std::vector<double>> h(4, std::vector<double>(samples));
  for (std::size_t c = 0; c < 4; ++c)
    for (std::size_t t = 0; t < samples; ++t)
      h[c][t] = static_cast<double>(p["input/weight"].values[c]) * static_cast<double>(sound[t]) +
                static_cast<double>(p["input/bias"].values[c]);
  for (int l = 0; l < 3; ++l) {
    const std::string name = "layers/" + std::to_string(l);
    const auto weight = p[name + "/weight"].values, bias = p[name + "/bias"].values;
    const auto below = h;
    for (std::size_t o = 0; o < 4; ++o)
      for (int t = 0; t < samples; ++t) {
        double z = static_cast<double>(bias[o]);
        for (std::size_t c = 0; c < 4; ++c)
          for (int tap = 0; tap < 3; ++tap)
            if (const int at = t - (2 - tap) * (1 << l); at >= 0)
              z += static_cast<double>(weight[(o * 4 + c) * 3 + static_cast<std::size_t>(tap)]) *
                   below[c][static_cast<std::size_t>(at)];
        h[o][static_cast<std::size_t>(t)] += std::tanh(z);
      }
  }
  for (std::size_t t = 0; t < samples; ++t) {
    double y_t = static_cast<double>(p["output/bias"].values[0]);
    for (std::size_t c = 0; c < 4; ++c) y_t += static_cast<double>(p["output/weight"].values[c]) * h[c][t];
    EXPECT_NEAR(static_cast<double>(by_64[t]), y_t, 1e-5) << t;
  }
}

/// Predicts the magnitudes of the windows of a signal.
struct Analysed {
  Parameter none;
  constexpr explicit Analysed(Scope s) : none(s.parameter("none", Shape{}, init::zeros())) {}
  constexpr Var predict(Var x) const { return magnitudes(x, 16) + none; }
};

TEST_F(Streams, MagnitudesAreThoseOfATransformThatIsMadeOnce) {
  using Spectrum = Compiled<Analysed, Inputs<f32[64]>>;
  static_assert(Spectrum::inference_memory(1).derived >= 2 * 9 * 16 * std::int64_t{sizeof(float)});
  std::vector<float> got(9 * 13), none(1);
  Inference<Spectrum> analyse{none};
  analyse(std::span(sound).first(64), got);
  for (int k = 0; k < 9; ++k)
    for (int window = 0; window < 13; ++window) {
      double real = 0, imaginary = 0;
      for (int t = 0; t < 16; ++t) {
        const double turn = 2 * std::numbers::pi / 16 * t;
        const double value = static_cast<double>(sound[static_cast<std::size_t>(window * 4 + t)]) * (0.5 - 0.5 * std::cos(turn));
        real += value * std::cos(k * turn), imaginary += value * std::sin(k * turn);
      }
      EXPECT_NEAR(static_cast<double>(got[static_cast<std::size_t>(k * 13 + window)]),
                  std::sqrt(real * real + imaginary * imaginary + 1e-7), 1e-5) << k << ", " << window;
    }
}

}  // namespace documented_streams_test
