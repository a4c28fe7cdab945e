// The cost of gelu in rows that fill vectors and in rows that do not, as they lie, transposed and joined, with sums over a row,
// over all rows and over the batch: a number that stands out means that elements are computed one by one. One thread, medians.
#include <cstdio>

#include "nets.hpp"

using namespace nets;

namespace {

constexpr std::int64_t batch = 64, rows = 16;

enum class Lie { in_order, transposed, joined };

/// The sums of gelu over rows of so many numbers behind a bias, of which a layer makes one.
template <int Columns, Lie How>
struct OfRows {
  Parameter bias;
  nn::Linear one;
  constexpr explicit OfRows(Scope s)
      : bias(s.parameter("bias", Shape{Columns}, init::uniform(1))), one(s / "one", Columns, 1) {}
  constexpr Loss loss(Var x) const {
    if constexpr (How == Lie::transposed) x = transpose(x, {0, 2, 1});
    if constexpr (How == Lie::joined) x = concat({slice(x, 2, 2, Columns - 2), slice(x, 2, 0, 2)}, 2);
    const Var y = gelu(x + bias);
    return {sum(one(y), {1, 2}) + sum(logsumexp(y), {1, 2}) + sum(square(y), {1, 2})};
  }
};

/// Returns the nanoseconds for each number of a step.
template <int Columns, Lie How>
double measure() {
  using Input = std::conditional_t<How == Lie::transposed, f32[Columns][rows], f32[rows][Columns]>;
  const std::vector<float> x = numbers(batch * rows * Columns, 1);
  Session session(Compiled<OfRows<Columns, How>, Inputs<Input>>{}, Accumulate{Sgd{.learning_rate = 0.0f}},
                  {.global_batch = batch});
  std::vector<double> step;
  for (int round = 0; round < 200; ++round) step.push_back(seconds([&] { session.accumulate(x); }));
  return 1e9 * median(step) / static_cast<double>(x.size());
}

template <Lie How>
void row(const char* name, double filled) {
  const double ns[] = {measure<16, How>(), measure<20, How>(), measure<10, How>(), measure<5, How>()};
  std::printf("%-12s", name);
  for (const double each : ns) std::printf(" %8.2f (%4.1f)", each, each / filled);
  std::printf("\n");
}

}  // namespace

int main() {
  std::printf("step, ns for each number (times that of rows of 16 in order)\n%-12s %15s %15s %15s %15s\n", "rows", "of 16",
              "of 20", "of 10", "of 5");
  const double filled = measure<16, Lie::in_order>();
  row<Lie::in_order>("in order", filled);
  row<Lie::transposed>("transposed", filled);
  row<Lie::joined>("joined", filled);
}
