// The Kalman filter of the guide to streams, against formulas in double that take all measurements at once.
#include <array>
#include <cmath>
#include <vector>

#include "../documented.hpp"

namespace documented_filters_test {

using namespace documented;

struct Filter {  // an extended Kalman filter of four numbers, two of which are measured, and of a motion that is learned
  nn::Linear hidden, output;
  Parameter motion, measured;  // logarithms of the variances of what each adds
  constexpr explicit Filter(Scope s)
      : hidden(s / "hidden", 4, 16), output(s / "output", 16, 4),
        motion(s.parameter("motion", Shape{4}, init::constant(-3))),
        measured(s.parameter("measured", Shape{2}, init::constant(-1))) {}
  constexpr Var next(Var x) const { return x + output(tanh(hidden(x))); }
  constexpr Var predict(Var kept, Var z) const {  // [batch, 4 + 4 * 4]: the numbers, and the covariance of their errors
    const Var x = slice(kept, 1, 0, 4), of_errors = reshape(slice(kept, 1, 4, 16), Shape::per_sample({4, 4}));
    const Var copies = broadcast(reshape(x, Shape::per_sample({1, 4})), Shape::per_sample({4, 4})), y = next(copies);
    const Var slopes = vjp(y, {copies}, iota(y, 1) == iota(y, 2))[0];  // the Jacobian of `next`
    Var now = select(y, 1, 0), p = matmul(matmul(slopes, of_errors), slopes, false, true);
    p += where(iota(p, 1) == iota(p, 2), exp(motion.on(p)), 0.0);
    for (int i = 0; i < 2; ++i) {  // measurements one after another: a division for each, where all at once need an inverse
      const Var column = slice(p, 2, i, 1), gain = column / (slice(column, 1, i, 1) + exp(slice(measured.on(p), 0, i, 1)));
      now += flatten(gain) * (slice(z, 1, i, 1) - slice(now, 1, i, 1));
      p = p - matmul(gain, column, false, true);
    }
    return concat({now, flatten(p)}, 1);
  }
  constexpr Loss loss(Var kept, Var z, Var truth) const { return {mse(slice(predict(kept, z), 1, 0, 4), truth)}; }
};
using FilterNet = Compiled<Filter, Inputs<f64[4 + 16], f64[2], f64[4]>>;

/// Returns the same by the gains of both measurements at once, with the inverse of their 2 × 2 covariance.
std::vector<double> at_once(const auto& parameters, const std::vector<double>& kept, const std::vector<double>& z) {
  const auto w = parameters["hidden/weight"].values, b = parameters["hidden/bias"].values;
  const auto v = parameters["output/weight"].values, c = parameters["output/bias"].values;
  std::array<double, 4> now{};
  std::array<std::array<double, 4>, 4> slopes{}, p{};
  for (std::size_t i = 0; i < 4; ++i) now[i] = kept[i] + c[i], slopes[i][i] = 1;
  for (std::size_t h = 0; h < 16; ++h) {
    double sum = b[h];
    for (std::size_t k = 0; k < 4; ++k) sum += kept[k] * w[k * 16 + h];
    const double t = std::tanh(sum);
    for (std::size_t i = 0; i < 4; ++i) {
      now[i] += t * v[h * 4 + i];
      for (std::size_t j = 0; j < 4; ++j) slopes[i][j] += w[j * 16 + h] * (1 - t * t) * v[h * 4 + i];
    }
  }
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 4; ++j) {
      p[i][j] = i == j ? std::exp(parameters["motion"].values[i]) : 0;
      for (std::size_t k = 0; k < 4; ++k)
        for (std::size_t l = 0; l < 4; ++l) p[i][j] += slopes[i][k] * kept[4 + k * 4 + l] * slopes[j][l];
    }
  const double first = p[0][0] + std::exp(parameters["measured"].values[0]);
  const double second = p[1][1] + std::exp(parameters["measured"].values[1]), both = first * second - p[0][1] * p[0][1];
  std::vector<double> result(20);
  for (std::size_t i = 0; i < 4; ++i) {
    const double gain[] = {(p[i][0] * second - p[i][1] * p[0][1]) / both, (p[i][1] * first - p[i][0] * p[0][1]) / both};
    result[i] = now[i] + gain[0] * (z[0] - now[0]) + gain[1] * (z[1] - now[1]);
    for (std::size_t j = 0; j < 4; ++j) result[4 + i * 4 + j] = p[i][j] - gain[0] * p[0][j] - gain[1] * p[1][j];
  }
  return result;
}

TEST(DocumentedFilters, TakeMeasurementsOneAfterAnother) {
  Session session(FilterNet{}, Accumulate{Adam{.learning_rate = 1e-2f}}, {.global_batch = 1, .seed = 1});
  std::vector<double> kept(20), z{0.3, -0.2}, truth{0.2, -0.1, 0.4, 0.1};
  for (std::size_t i = 0; i < 4; ++i) kept[4 + 5 * i] = 1 + 0.5 * static_cast<double>(i);
  for (int tick = 0; tick < 20; ++tick) {
    const std::vector<double> next = session.predict(kept, z), expected = at_once(session.parameters(), kept, z);
    for (std::size_t i = 0; i < 20; ++i) EXPECT_NEAR(next[i], expected[i], 1e-13) << tick << ", " << i;
    kept = next;
    z[0] = std::sin(0.1 * tick);
  }
  const double before = session.losses(kept, z, truth)[0];
  for (int step = 0; step < 50; ++step) session.accumulate(kept, z, truth);
  EXPECT_LT(session.losses(kept, z, truth)[0], before);
}

}  // namespace documented_filters_test
