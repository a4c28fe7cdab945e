// The code of docs/guides/forecasts.md: read, learned, judged by later blocks, and its likelihood beside its formula.
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>

#include "../documented.hpp"

namespace documented_forecasts_test {

using namespace documented;

constexpr int lags = 48, ahead = 24;

constexpr Var rising(Var out) {  // the last axis: none of its numbers is below the one before it
  return cumsum(where(iota(out, -1) == 0.0, out, softplus(out)), -1);
}

struct Demand {  // of three towns: quantiles of the next day's load, hour by hour
  nn::Embedding town, weekday, hour;
  nn::Linear hidden, output;
  constexpr explicit Demand(Scope s)
      : town(s / "town", 3, 4), weekday(s / "weekday", 7, 3), hour(s / "hour", 24, 4),
        hidden(s / "hidden", 2 * lags + 11, 32, init::kaiming_uniform(2 * lags + 11)), output(s / "output", 32, 3 * ahead) {}
  constexpr Var predict(Var x, Var known, Var at) const {  // [batch, ahead, 3]
    const Var now = concat({town(select(at, 1, 0)), weekday(select(at, 1, 1)), hour(select(at, 1, 2))}, 1);
    return rising(reshape(output(relu(hidden(concat({x, known, now}, 1)))), Shape::per_sample({ahead, 3})));
  }
  constexpr Loss loss(Var x, Var known, Var at, Var y, Var counts) const {
    const Var quantiles = predict(x, known, at), q = lookup(iota(quantiles, 2), {0.1, 0.5, 0.9});
    const Var rest = reshape(y, Shape::per_sample({ahead, 1})) - quantiles;
    const Var inside = (y >= select(quantiles, 2, 0)) * (y <= select(quantiles, 2, 2));
    return Loss(mean(maximum(q * rest, (q - 1.0) * rest), {2}), metric("inside", inside)).weighted_by(counts);
  }
};
using DemandNet = Compiled<Demand, Inputs<f32[lags], f32[lags], i32[3], f32[ahead], f32[ahead]>>;
using Data = DatasetOf<DemandNet::InputTypes>;

std::int64_t hour_of(std::string_view text) {  // "2021-04-30T13:00": hours since 1970
  const auto number = [&](std::size_t at, std::size_t digits) {
    unsigned value = 0;
    std::from_chars(text.data() + at, text.data() + at + digits, value);
    return value;
  };
  const std::chrono::year year(static_cast<int>(number(0, 4)));
  const std::chrono::sys_days day = year / std::chrono::month(number(5, 2)) / std::chrono::day(number(8, 2));
  return 24 * std::int64_t{day.time_since_epoch().count()} + number(11, 2);
}

struct Series {
  std::int64_t first = 0;           // hour, since 1970
  std::vector<float> load, known;  // hour by hour; 0 and 0 where nothing is known
};

Series series_of(const Table& table) {
  const Categories& times = table.text.at("time");  // in any order, with hours left out
  std::vector<std::int64_t> hours;
  for (const std::int32_t time : table.labels("time")) hours.push_back(hour_of(times[time]));
  const auto [first, last] = std::ranges::minmax(hours);
  const auto length = static_cast<std::size_t>(last - first + 1);
  Series series{first, std::vector<float>(length), std::vector<float>(length)};
  const std::vector<float> load = table.take({"load"});
  for (std::size_t row = 0; row < hours.size(); ++row) {
    if (std::isnan(load[row])) continue;
    const auto at = static_cast<std::size_t>(hours[row] - first);
    series.load[at] = load[row], series.known[at] = 1;
  }
  return series;
}

/// Four weeks of a town, as a file would have them: hours from the last to the first, one in 40 left out, one in 40 empty.
std::string some_hours(int town) {
  std::mt19937 random(static_cast<unsigned>(town));
  std::normal_distribution<double> noise;
  std::string text = "time;load\n";
  for (int hour = 28 * 24; hour-- > 0;) {
    const double size = std::pow(10, town), wave = std::sin(2 * std::numbers::pi * hour / 24);
    const double load = size * (500 + 100 * wave * (hour / 24 % 7 < 5 ? 1 : 0.5) + 5 * noise(random));
    char line[64];
    std::snprintf(line, sizeof line, "2021-03-%02dT%02d:00;%d,%d\n", 1 + hour / 24, hour % 24,
                  static_cast<int>(load), static_cast<int>(load * 10) % 10);
    const auto lot = random() % 40;
    if (lot == 0 && hour > 0 && hour < 28 * 24 - 1) continue;
    text += lot == 1 ? std::string(line).substr(0, 17) + "\n" : line;
  }
  return text;
}

TEST_F(Documented, HoursOfTextAreNumbers) {
  EXPECT_EQ(hour_of("1970-01-01T00:00"), 0);
  EXPECT_EQ(hour_of("2021-04-30T13:00"), 449941);  // date -d '2021-04-30 13:00 UTC' +%s, by 3600
}

TEST_F(Documented, ForecastsAreJudgedByLaterBlocks) {
  std::vector<Series> towns;
  for (int town = 0; town < 3; ++town) {
    const CsvOptions as_written{.header = true, .separator = ';', .decimal = ',', .text = {{"time", {}}}, .missing = {""}};
    towns.push_back(series_of(parse_csv(some_hours(town), as_written)));
  }
  EXPECT_EQ(towns[1].first, hour_of("2021-03-01T00:00"));
  EXPECT_EQ(towns[2].load.size(), 28u * 24u);

  std::vector<float> means, deviations;
  for (Series& town : towns) {
    std::vector<float> measured;
    for (std::size_t t = 0; t < 14 * 24; ++t)  // before what is judged
      if (town.known[t] != 0) measured.push_back(town.load[t]);
    const Normalizer normalizer = Normalizer::fit(measured, 1);
    normalizer.apply(town.load);
    for (std::size_t t = 0; t < town.load.size(); ++t) town.load[t] *= town.known[t];
    means.push_back(normalizer.mean()[0]), deviations.push_back(normalizer.deviation()[0]);
  }
  const Normalizer scales(means, deviations);  // a column for each town

  for (const Series& town : towns) {
    double sum = 0, known = 0;
    for (std::size_t t = 0; t < 14 * 24; ++t) {
      sum += static_cast<double>(town.load[t]);
      known += static_cast<double>(town.known[t]);
    }
    EXPECT_NEAR(sum / known, 0, 1e-6);
    EXPECT_GT(known, 300);
  }

  struct Window {
    std::int32_t town, begin;
  };
  std::vector<Window> windows;
  std::vector<std::int32_t> times;  // the hour in which each is a forecast
  for (std::int32_t town = 0; town < 3; ++town)
    for (std::int32_t begin = 0; begin + lags + ahead <= std::ssize(towns[town].load); ++begin) {
      windows.push_back({town, begin});
      times.push_back(static_cast<std::int32_t>(towns[town].first + begin + lags));
    }

  const auto data_of = [&](const std::vector<std::int32_t>& rows) {
    return Data::made(std::ssize(rows), {lags, lags, 3, ahead, ahead},
                      [&](auto numbers, auto x, auto known, auto at, auto y, auto counts) {
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto [which, begin] = windows[rows[numbers[i]]];
        const Series& town = towns[which];
        std::copy_n(&town.load[begin], lags, &x[i * lags]);
        std::copy_n(&town.known[begin], lags, &known[i * lags]);
        const std::int32_t now = times[rows[numbers[i]]];
        at[3 * i] = which, at[3 * i + 1] = (now / 24 + 3) % 7, at[3 * i + 2] = now % 24;  // 1970 began on a Thursday
        std::copy_n(&town.load[begin + lags], ahead, &y[i * ahead]);
        std::copy_n(&town.known[begin + lags], ahead, &counts[i * ahead]);
      }
    });
  };

  std::vector<Averages> results;
  const Folds folds = Folds::rolling(times, 2, 7 * 24, ahead);
  for (int f = 0; f < folds.count(); ++f) {
    const std::vector<std::int32_t> learned = folds.learned(f), later = folds.held_back(f);
    Trainer trainer(DemandNet{}, Accumulate{Adam{.learning_rate = 2e-3}}, {.global_batch = 128});
    trainer.fit(data_of(learned), {.epochs = 15});
    results.push_back(trainer.evaluate(data_of(later)));
    Checkpoint file;
    scales.store(file, "scales");
    trainer.save("demand.safetensors", file);
  }

  const auto inside = [](const Averages& a) { return a.metric(DemandNet::metric("inside")); };
  double known = 0;  // of the last fold's targets
  for (const std::int32_t row : folds.held_back(1)) {
    const Window w = windows[static_cast<std::size_t>(row)];
    const Series& town = towns[static_cast<std::size_t>(w.town)];
    EXPECT_GE(w.begin + lags, 28 * 24 - ahead + 1 - 7 * 24);
    for (int h = 0; h < ahead; ++h) known += static_cast<double>(town.known[static_cast<std::size_t>(w.begin + lags + h)]);
  }
  EXPECT_EQ(results[1].weight(), known);
  for (const Averages& result : results) {
    EXPECT_GT(inside(result), 0.5);
    EXPECT_LT(result.loss(), 0.12) << "what is known of the day before costs more";
  }

  const std::vector<std::int32_t> last = {folds.held_back(1).back()};
  std::vector<float> x(lags), there(lags), y(ahead), counts(ahead);
  std::vector<std::int32_t> at(3);
  data_of(last).make(std::vector<std::int32_t>{0}, x, there, at, y, counts);
  EXPECT_EQ(at, (std::vector<std::int32_t>{2, 6, 0})) << "Sunday, 2021-03-28, midnight";
  const Checkpoint file = load("demand.safetensors");
  const Normalizer of_file = Normalizer::from(file, "scales");
  Inference<DemandNet> forecast(file);
  std::vector<float> quantiles(3 * ahead);
  forecast(x, there, at, quantiles);
  for (std::size_t h = 0; h < ahead; ++h) {
    EXPECT_LE(quantiles[3 * h], quantiles[3 * h + 1]);
    EXPECT_LE(quantiles[3 * h + 1], quantiles[3 * h + 2]);
    const float load = quantiles[3 * h + 1] * of_file.deviation()[2] + of_file.mean()[2];
    EXPECT_GT(load, 30000);
    EXPECT_LT(load, 70000);
  }
}

constexpr Var student_t(Var mean, Var log_scale, Var log_freedom, Var y) {  // of 2 to 150 degrees of freedom
  const Var freedom = 2.0 + exp(minimum(log_freedom, 5.0)), half = 0.5 * (freedom + 1.0), z = (y - mean) * exp(-log_scale);
  return lgamma(0.5 * freedom) - lgamma(half) + 0.5 * log(freedom) + log_scale + half * log1p(square(z) / freedom);
}

TEST(DocumentedForecasts, StudentsTIsItsFormula) {
  const std::vector<double> mean{0, 1, -2}, log_scale{0, -3, 2}, log_freedom{-5, 0, 6}, y{0.5, 40, -2.1};
  ParametersIn<double> none(Device::cpu());
  none.initialize(0);
  EagerTape tape(none, 3);
  const Tensor losses = value(student_t(tape.input(mean), tape.input(log_scale), tape.input(log_freedom), tape.input(y)));
  for (std::size_t i = 0; i < 3; ++i) {
    const double n = 2 + std::exp(std::min(log_freedom[i], 5.0)), z = (y[i] - mean[i]) / std::exp(log_scale[i]);
    const double density = std::tgamma((n + 1) / 2) / std::tgamma(n / 2) / std::sqrt(n) / std::exp(log_scale[i]) *
                           std::pow(1 + z * z / n, -(n + 1) / 2);
    EXPECT_NEAR(losses.values<double>()[i], -std::log(density), 1e-12);
  }
}

constexpr int seen = 6, drawn = 3;

struct Paths {  // what may come: each step is drawn, and read before the next
  nn::Gru gru;
  nn::Linear output;
  constexpr explicit Paths(Scope s) : gru(s / "gru", 1, 8), output(s / "output", 8, 2) {}
  constexpr Var predict(Var x) const {  // [batch, seen] to [batch, drawn]
    Var h = gru(reshape(x, Shape::per_sample({seen, 1}))).back();
    std::vector<Var> path;
    for (int step = 0; step < drawn; ++step) {
      const auto [mean, log_deviation] = split<2>(output(h));
      path.push_back(mean + exp(log_deviation) * normal_like(mean));
      h = gru.step(path.back(), h);
    }
    return concat(path, 1);
  }
  constexpr Loss loss(Var x, Var y) const {  // of each step, what was before it being known
    const Var all = concat({x, slice(y, 1, 0, drawn - 1)}, 1);
    const Var states = stack(gru(reshape(all, Shape::per_sample({seen + drawn - 1, 1}))), 1);
    const auto [mean, log_deviation] = split<2>(output(slice(states, 1, seen - 1, drawn)), 2);
    const Var z = (reshape(y, Shape::per_sample({drawn, 1})) - mean) * exp(-log_deviation);
    return {sum(0.5 * square(z) + log_deviation, {1, 2})};
  }
};
using PathsNet = Compiled<Paths, Inputs<f32[seen], f32[drawn]>>;

TEST(DocumentedForecasts, PathsHaveTheSpreadOfWhatComes) {
  std::mt19937 random(1);
  std::normal_distribution<float> noise;
  std::vector<float> walk{0};  // x' = 0.8 x + noise
  while (walk.size() < 2500) walk.push_back(0.8f * walk.back() + 0.3f * noise(random));
  using Steps = DatasetOf<PathsNet::InputTypes>;
  const auto data = Steps::made(2500 - seen - drawn, {seen, drawn}, [&](auto numbers, auto x, auto y) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      std::copy_n(walk.begin() + numbers[i], seen, x.begin() + static_cast<std::ptrdiff_t>(i * seen));
      std::copy_n(walk.begin() + numbers[i] + seen, drawn, y.begin() + static_cast<std::ptrdiff_t>(i * drawn));
    }
  });
  Trainer trainer(PathsNet{}, Accumulate{Adam{.learning_rate = schedule::cosine(2e-2, 390)}}, {.global_batch = 64});
  trainer.fit(data, {.epochs = 10});

  constexpr std::size_t begun = 50;  // paths of each round, from as many places
  std::vector<float> x;
  for (std::size_t i = 0; i < begun; ++i) x.insert(x.end(), &walk[20 * i], &walk[20 * i] + seen);
  std::vector<std::vector<float>> paths(200, std::vector<float>(begun * drawn));
  Inference<Drawing<PathsNet>> draw(trainer.parameters(), begun);
  for (std::uint64_t round = 0; round < paths.size(); ++round) draw({.seed = 1, .round = round}, x, paths[round]);

  for (std::size_t step = 0; step < drawn; ++step) {
    const double still = std::pow(0.8, static_cast<double>(step) + 1), of_all = 1 / static_cast<double>(200 * begun);
    double sum = 0, squares = 0;
    for (const auto& path : paths)
      for (std::size_t i = 0; i < begun; ++i) {
        const double off = static_cast<double>(path[i * drawn + step]) - still * static_cast<double>(x[i * seen + seen - 1]);
        sum += off * of_all, squares += off * off * of_all;
      }
    EXPECT_NEAR(sum, 0, 0.05);
    EXPECT_NEAR(std::sqrt(squares), 0.3 * std::sqrt((1 - still * still) / (1 - 0.64)), 0.04) << step;
  }
}

struct Next {  // of eight values, by weights of their own
  nn::Linear output;
  constexpr explicit Next(Scope s) : output(s / "output", 8, 1) {}
  constexpr Var predict(Var x) const { return output(x); }
  constexpr Loss loss(Var x, Var y, Var weight) const { return Loss(mse(predict(x), y)).weighted_by(weight); }
};
using NextNet = Compiled<Next, Inputs<f32[8], f32[1], f32>>;

TEST(DocumentedForecasts, AStepForEachNewValueFollowsAChange) {
  std::vector<float> series;
  for (int t = 0; t < 1200; ++t) series.push_back(static_cast<float>(std::sin((t < 600 ? 0.3 : 0.5) * t)));
  std::vector<float> x, y, errors;
  for (std::size_t t = 0; t + 8 < series.size(); ++t) {
    x.insert(x.end(), &series[t], &series[t] + 8);
    y.push_back(series[t + 8]);
  }

  std::vector<float> weights;
  for (int age = 63; age >= 0; --age) weights.push_back(std::pow(0.95f, static_cast<float>(age)));  // the newest comes last
  Session session(NextNet{}, Accumulate{Adam{.learning_rate = 1e-2}}, {.global_batch = 64});
  for (std::size_t now = 64; now < y.size(); ++now) {
    errors.push_back(y[now] - session.predict(std::span(x).subspan(now * 8, 8))[0]);  // before it is learned
    session.accumulate(std::span(x).subspan((now - 63) * 8, 64 * 8), std::span(y).subspan(now - 63, 64), weights);
  }

  const auto size = [&](std::size_t begin) {
    double sum = 0;
    for (std::size_t t = begin; t < begin + 100; ++t) sum += std::abs(static_cast<double>(errors[t])) / 100;
    return sum;
  };
  EXPECT_LT(size(400), 0.02);
  EXPECT_LT(size(1000), 0.02) << "after the change at 600";
  EXPECT_GT(size(530), 2 * size(400));
}

}  // namespace documented_forecasts_test
