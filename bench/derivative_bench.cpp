// Value, gradient and Hessian of a function of two numbers at 256 points, compiled, eagerly, and written by hand: one thread,
// medians of interleaved rounds.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "nets.hpp"

using namespace nets;

namespace {

constexpr Var valley(Var a, Var b) { return square(1.0 - a) + 100.0 * square(b - square(a)) + exp(-a * b); }

struct Valley {  // [batch, 1 + 2 + 4]
  constexpr explicit Valley(Scope) {}
  constexpr Var predict(Var x) const {
    const Var y = valley(slice(x, 1, 0, 1), slice(x, 1, 1, 1)), slope = gradients(y, {x})[0];
    return concat({y, slope, gradients(select(slope, 1, 0), {x})[0], gradients(select(slope, 1, 1), {x})[0]}, 1);
  }
};

struct Columns {  // the same of two inputs
  constexpr explicit Columns(Scope) {}
  constexpr Var predict(Var a, Var b) const {
    const Var y = valley(a, b);
    const auto slope = gradients(y, {a, b}), of_a = gradients(slope[0], {a, b}), of_b = gradients(slope[1], {a, b});
    return stack({y, slope[0], slope[1], of_a[0], of_a[1], of_b[0], of_b[1]}, 1);
  }
};

struct Twice {
  constexpr explicit Twice(Scope) {}
  constexpr Var predict(Var x) const { return 2.0 * x; }
};

[[gnu::noinline]] void by_hand(const double* x, double* out) {
  const double a = x[0], b = x[1], d = b - a * a, e = std::exp(-a * b);
  out[0] = (1 - a) * (1 - a) + 100 * d * d + e;
  out[1] = -2 * (1 - a) - 400 * a * d - b * e, out[2] = 200 * d - a * e;
  out[3] = 2 - 400 * d + 800 * a * a + b * b * e, out[4] = out[5] = -400 * a - e + a * b * e, out[6] = 200 + a * a * e;
}

}  // namespace

int main() {
  constexpr std::size_t points = 256;
  std::vector<double> x(2 * points), a(points), b(points), out(7 * points);
  for (std::size_t i = 0; i < points; ++i) {
    a[i] = x[2 * i] = std::sin(2.0 * static_cast<double>(i));
    b[i] = x[2 * i + 1] = std::cos(2.0 * static_cast<double>(i));
  }
  const auto at = [&](std::size_t i) { return std::span<const double>(x).subspan(2 * i, 2); };
  const auto to = [&](std::size_t i) { return std::span(out).subspan(7 * i, 7); };
  Inference<Compiled<Twice, Inputs<f64[2]>>> twice;
  Inference<Compiled<Valley, Inputs<f64[2]>>> one, many(points);
  Inference<Compiled<Columns, Inputs<f64, f64>>> columns(points);
  std::vector<ParameterInfo> none;
  const Valley model{Scope(none)};
  EagerTape tape(Device::cpu(), 1);
  const auto eagerly = [&](std::size_t i) {
    tape.forget();
    std::ranges::copy(value(model.predict(tape.input(at(i), {2}))).values<double>(), to(i).begin());
  };
  std::array<std::vector<double>, 6> times;
  for (int round = 0; round < 101; ++round) {
    const auto measure = [&](int way, auto f) {  // f(i) for each point
      times[static_cast<std::size_t>(way)].push_back(seconds([&] {
        for (std::size_t i = 0; i < points; ++i) f(i);
      }));
    };
    measure(0, [&](std::size_t i) { by_hand(&x[2 * i], &out[7 * i]); });
    measure(1, [&](std::size_t i) {
      if (i == 0) many(x, out);
    });
    measure(2, [&](std::size_t i) {
      if (i == 0) columns(a, b, out);
    });
    measure(3, [&](std::size_t i) { one(at(i), to(i)); });
    measure(4, [&](std::size_t i) { twice(at(i), to(i).first(2)); });
    measure(5, eagerly);
  }
  const char* const names[] = {"by hand",  "256 at once", "256 at once, two inputs",
                               "one by one", "one by one, only 2x", "one by one, on a tape"};
  for (std::size_t way = 0; way < times.size(); ++way)
    std::printf("%-26s %9.1f ns for each point\n", names[way], 1e9 * median(times[way]) / points);
}
