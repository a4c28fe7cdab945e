// Samples that are not stored, such as windows of a series, are made when a trainer asks for them, to the bits of stored ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "../error_of.hpp"
#include "../resume.hpp"

namespace made_samples_test {

using namespace resume;

constexpr int samples = 150;
using Data = Dataset<float, std::int32_t>;

/// Windows of nine numbers of one series, each with a label, for a net with dropout.
struct MadeSamples : Resume {
  std::vector<float> series = numbers(samples + 8);
  const std::vector<float> x = copied();
  std::vector<std::int32_t> y = labels(samples, 5);
  std::vector<float> copied() const {
    std::vector<float> windows;
    for (int s = 0; s < samples; ++s) windows.insert(windows.end(), series.begin() + s, series.begin() + s + 9);
    return windows;
  }
  const Data lying{x, y};
  int most = 0, calls = 0;
  const Data made = Data::made(samples, {9, 1}, [this](auto numbers, auto windows, auto of) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      std::copy_n(series.begin() + numbers[i], 9, windows.begin() + static_cast<std::ptrdiff_t>(9 * i));
      of[i] = y[static_cast<std::size_t>(numbers[i])];
    }
    ++calls;
    most = std::max(most, static_cast<int>(numbers.size()));
  });
};

std::vector<float> learned(const auto& trainer) {
  const auto values = trainer.parameters().values();
  return {values.begin(), values.end()};
}
void expect_equal(const Averages& a, const Averages& b) {
  EXPECT_EQ(differing_bits(std::as_bytes(a.sums()), std::as_bytes(b.sums())), 0);
  EXPECT_EQ(a.count(), b.count());
}

/// Expects fits on part of each data set, validated on the rest, to end in the same bits.
template <class Make>
void expect_same_fit(const Data& lying, const Data& made, Make make, const FitOptions<Data>& asked = {}) {
  const auto run = [&](const Data& all) {
    return make([&](auto& trainer) {
      FitOptions<Data> options = asked;
      options.epochs = 2;
      options.validate = all.subset(100, 50);
      const History history = trainer.fit(all.subset(3, 97), options);
      return std::tuple(learned(trainer), history.back().training, history.back().validation,
                        trainer.losses(all.subset(40, 70)), trainer.evaluate(all));
    });
  };
  const auto [p, training, validation, losses, all] = run(lying);
  const auto [q, made_training, made_validation, made_losses, made_all] = run(made);
  EXPECT_EQ(p, q);
  EXPECT_EQ(losses, made_losses);
  expect_equal(training, made_training);
  expect_equal(validation, made_validation);
  expect_equal(all, made_all);
}

TEST_F(MadeSamples, AreLearnedToTheBitsOfThoseThatLie) {
  for (const std::int64_t micro_batch : {32, 7})
    for (const Tail tail : {Tail::step, Tail::carry, Tail::drop}) {
      most = 0;
      expect_same_fit(lying, made, [&](auto use) {
        Trainer trainer(DroppedNet{}, optimizer,
                        {.global_batch = 32, .micro_batch = micro_batch, .seed = 4, .threads = 2, .tail = tail});
        return use(trainer);
      });
      EXPECT_EQ(most, micro_batch);
    }
}

TEST_F(MadeSamples, AreDrawnAndEvaluatedTwice) {
  std::vector<double> weights(97);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = i % 3 == 0 ? 1 : 0.125;
  FitOptions<Data> drawn;
  drawn.draw = weights;
  expect_same_fit(
      lying, made,
      [&](auto use) {
        Trainer trainer(DroppedNet{}, Accumulate{Sam{Adam{}, 0.05}}, {.global_batch = 32, .micro_batch = 16});
        return use(trainer);
      },
      drawn);
}

TEST_F(MadeSamples, AreLearnedByEagerNets) {
  expect_same_fit(lying, made, [&](auto use) {
    Parameters parameters(Device::cpu());
    const Dropped model(parameters.root());
    const EagerNet net(parameters, [&](EagerTape& tape, std::span<const float> in, std::span<const std::int32_t> label) {
      const Var values = tape.input(in, {9}), of = tape.input(label);
      return model.loss(values, of);
    });
    Trainer trainer(net, optimizer, {.global_batch = 32, .micro_batch = 7, .seed = 4});
    return use(trainer);
  });
  Parameters parameters(Device::cpu());
  const Dropped model(parameters.root());
  const EagerNet net(parameters, [&](EagerTape& tape, std::span<const float> in, std::span<const std::int32_t> label) {
    const Var values = tape.input(in, {9}), of = tape.input(label);
    return model.loss(values, of);
  });
  Trainer trainer(net, optimizer, {.global_batch = 32, .micro_batch = 7});
  trainer.evaluate(lying);  // gives the parameters values
  const auto predict = [&](const Data& data) {
    return trainer.predict(data, [&](EagerTape& tape, std::span<const float> in, std::span<const std::int32_t>) {
      return model.predict(tape.input(in, {9}));
    });
  };
  EXPECT_EQ(predict(lying.subset(20, 30)), predict(made.subset(20, 30)));
  series[50] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(error_of<DataError>([&] { trainer.evaluate(made); }), "input 0, sample 42: value 8 is infinite");
}

TEST_F(MadeSamples, AreLookedAtWhenTheyAreMade) {
  Trainer trainer(DroppedNet{}, optimizer, {.global_batch = 32, .micro_batch = 16});
  const auto refused = [&](const Data& data) { return error_of<DataError>([&] { trainer.evaluate(data); }); };
  series[50] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(refused(made), "input 0, sample 42: value 8 is NaN");
  EXPECT_EQ(refused(made.subset(40, 20)), "input 0, sample 2: value 8 is NaN");
  EXPECT_EQ(refused(lying), "accepted") << "a copy";
  EXPECT_EQ(error_of<DataError>([&] { trainer.losses(made.subset(42, 1)); }), "input 0, sample 0: value 8 is NaN");
  EXPECT_EQ(error_of<DataError>([&] { trainer.fit(made, {.epochs = 2}); }).substr(0, 16), "input 0, sample ");
  trainer.discard_epoch();
  EXPECT_EQ(error_of<DataError>([&] { trainer.fit(made.subset(0, 40), {.validate = made.subset(40, 20)}); }),
            "validation data: input 0, sample 2: value 8 is NaN");
  series[50] = 1;
  y[3] = 5;
  EXPECT_EQ(refused(made), "input 1, sample 3: label 5 is outside the 5 classes 0 to 4");
  y[3] = 0;
  EXPECT_EQ(refused(Data::made(9, {9, 1}, [](auto, auto, auto of) { std::ranges::fill(of, 0); })),
            "input 0, sample 0: value 0 is NaN")
      << "what is left out";
  EXPECT_EQ(refused(Data::made(9, {9, 1}, [](auto, auto in, auto) { std::ranges::fill(in, 0.0f); })),
            "input 1, sample 0: label -1 is outside the 5 classes 0 to 4");
}

/// A line over four numbers of any type, even bytes.
template <class E>
struct Line {
  nn::Linear output;
  constexpr explicit Line(Scope s) : output(s / "output", 4, 1) {}
  constexpr Loss loss(Var x, Var y) const { return {mse(output(convert(x, y.dtype())), y)}; }
  using Net = Compiled<Line, Inputs<E[4], std::conditional_t<std::is_same_v<E, double>, double, float>[1]>>;
};

TEST_F(MadeSamples, MayBeInAnyType) {
  const auto loss_in = [](auto type) {
    using Net = typename Line<decltype(type)>::Net;
    const auto data = DatasetOf<typename Net::InputTypes>::made(100, {4, 1}, [](auto rows, auto in, auto out) {
      for (std::size_t i = 0; i < in.size(); ++i)
        in[i] = static_cast<decltype(type)>(static_cast<float>((rows[i / 4] * 7 + static_cast<int>(i % 4) * 3) % 11));
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(rows[i] % 5);
    });
    Trainer trainer(Net{}, optimizer, {.global_batch = 32, .micro_batch = 9});
    trainer.fit(data, {.epochs = 2});
    return trainer.evaluate(data).loss();
  };
  const double expected = loss_in(0.0f);
  EXPECT_EQ(loss_in(std::uint8_t{}), expected);
  EXPECT_EQ(loss_in(bf16{}), expected) << "what such numbers hold whole";
  EXPECT_NEAR(loss_in(0.0), expected, 1e-4);
}

struct Weighed {
  nn::Linear output;
  constexpr explicit Weighed(Scope s) : output(s / "output", 2, 1) {}
  constexpr Loss loss(Var x, Var y, Var weight) const { return Loss(mse(output(x), y)).weighted_by(weight); }
};

TEST_F(MadeSamples, MustHaveWeightsOfAMean) {
  using Net = Compiled<Weighed, Inputs<f32[2], f32[1], f32>>;
  const auto data = DatasetOf<Net::InputTypes>::made(20, {2, 1, 1}, [](auto rows, auto in, auto out, auto weight) {
    std::ranges::fill(in, 1.0f);
    std::ranges::fill(out, 1.0f);
    for (std::size_t i = 0; i < rows.size(); ++i) weight[i] = rows[i] == 7 ? -1.0f : 1.0f;
  });
  Trainer mean(Net{}, optimizer, {.global_batch = 20});
  EXPECT_EQ(error_of<DataError>([&] { mean.fit(data); }).substr(0, 18), "input 2, sample 7:");
  Trainer sum(Net{}, optimizer, {.global_batch = 20, .reduction = Reduction::sum});
  EXPECT_EQ(sum.fit(data).back().steps, 1);
}

TEST_F(MadeSamples, LeaveTheRestOfAnEpochToTheNextFitWhereTheirFunctionThrows) {
  const TrainerOptions options{.global_batch = 32, .micro_batch = 16, .seed = 4};
  Trainer whole(DroppedNet{}, optimizer, options), broken(DroppedNet{}, optimizer, options);
  whole.fit(made, {.epochs = 2});
  int left = 3;
  const Data fails = Data::made(samples, {9, 1}, [&](auto rows, auto in, auto of) {
    if (left-- == 0) throw std::runtime_error("the disk is gone");
    made.make(rows, in, of);
  });
  EXPECT_EQ(error_of<std::runtime_error>([&] { broken.fit(fails, {.epochs = 2}); }), "the disk is gone");
  EXPECT_EQ(broken.epoch(), 0);
  EXPECT_EQ(broken.session().position(), 16);
  broken.fit(fails, {.epochs = 2});
  EXPECT_EQ(learned(whole), learned(broken));
}

TEST_F(MadeSamples, AreRefusedWhereTheyDoNotFit) {
  Trainer trainer(DroppedNet{}, optimizer, {.global_batch = 32});
  const Data narrow = Data::made(9, {8, 1}, [](auto...) {});
  const char* const text = "the data set makes 8 values of input 0 for each sample, but the net takes 9";
  EXPECT_EQ(error_of<DataError>([&] { trainer.fit(narrow); }), text);
  EXPECT_EQ(error_of<DataError>([&] { trainer.losses(narrow); }), text);
  EXPECT_EQ(error_of<OptionError>([&] { made.apply([](auto...) {}); }),
            "a data set whose samples are made has no spans: give it to a trainer");
  EXPECT_EQ(error_of<OptionError>([&] { made.batches(8); }),
            "a data set whose samples are made has no batches: give it to a trainer");
  EXPECT_EQ(error_of<DataError>([] { Data::made(0, {9, 1}, [](auto...) {}); }),
            "a data set of 0 samples that are made: 1 to 2^31 - 1 are possible");
  EXPECT_EQ(error_of<DataError>([] { Data::made(std::int64_t{1} << 31, {9, 1}, [](auto...) {}); }),
            "a data set of 2147483648 samples that are made: 1 to 2^31 - 1 are possible");
  EXPECT_EQ(error_of<OptionError>([] { Data::made(9, {9, 0}, [](auto...) {}); }),
            "a data set that makes 0 values for each sample");
  EXPECT_EQ(error_of<OptionError>([] { Data::made(9, {9, 1}, nullptr); }), "a data set that is made by an empty function");
  EXPECT_EQ(made.widths(), (Data::Widths{9, 1}));
  EXPECT_EQ(lying.widths(), made.widths());
  const auto [first, rest] = made.split(0.8);
  EXPECT_EQ(first.size(), 120);
  std::vector<float> window(9);
  std::vector<std::int32_t> label(1);
  const std::vector<std::int32_t> second{1};
  rest.make(second, window, label);
  EXPECT_TRUE(std::ranges::equal(window, std::span(x).subspan(121 * 9, 9)));
}

TEST_F(MadeSamples, AreNotMadeWhereTheyDoNotFit) {
  std::vector<float> window(18);
  std::vector<std::int32_t> label(2);
  const auto error_of_making = [&](const Data& data, std::vector<std::int32_t> rows, std::size_t room) {
    return error_of<DataError>([&] { data.make(rows, std::span(window).first(room), label); });
  };
  EXPECT_EQ(error_of_making(made, {0, samples}, 18), "make: sample 150 of 150");
  EXPECT_EQ(error_of_making(made.subset(100, 50), {-1, 0}, 18), "make: sample -1 of 50");
  EXPECT_EQ(error_of_making(made, {0, 1}, 17), "make: input 0 has room for 17 values, not for the 18 of 2 samples");
  EXPECT_EQ(error_of_making(made, {0, 1}, 19), "make: input 0 has room for 19 values, not for the 18 of 2 samples");
  EXPECT_THROW(lying.make(std::vector<std::int32_t>{0, 1}, window, label), OptionError);
  EXPECT_EQ(calls, 0);
}

}  // namespace made_samples_test
