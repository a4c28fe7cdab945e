// A whole training step with Adam against one written by hand for the same sizes: one thread, the same start and data,
// medians of interleaved rounds. The gradients of the first step show that both do the same work.
#include <cmath>
#include <cstdio>

#include "handwritten_step.hpp"
#include "nets.hpp"

using namespace nets;

namespace {

template <int... Width>
bool row(const char* name, int batch, int steps) {
  using Model = Classifier<Width...>;
  using Net = NetOf<Model, i32>;
  const auto x = numbers(static_cast<std::size_t>(batch * Model::width[0]), 1);
  const auto y = labels(static_cast<std::size_t>(batch));
  std::vector<double> ours, theirs;
  double error = 0;
  for (int round = 0; round < 11; ++round) {
    Session session(Net{}, Accumulate{Adam{}}, {.global_batch = batch, .seed = static_cast<std::uint64_t>(round)});
    handwritten::Step<Width...> by_hand(batch);
    for (int l = 0; l < Model::count; ++l)
      by_hand.set(l, session.parameters()[2 * l].values.data(), session.parameters()[2 * l + 1].values.data());
    session.accumulate(x, y);
    by_hand(x.data(), y.data());
    for (int l = 0; l < Model::count; ++l) {
      const float* got = session.accumulator().data() + Net::parameter_offset(2 * l);
      double largest = 0, difference = 0;
      for (int i = 0; i < Model::width[l]; ++i)
        for (int j = 0; j < Model::width[l + 1]; ++j) {
          const auto a = static_cast<double>(got[i * Model::width[l + 1] + j]);
          const auto b = static_cast<double>(by_hand.gradient(l, i, j));
          largest = std::max(largest, std::abs(a));
          difference = std::max(difference, std::abs(a - b));
        }
      error = std::max(error, difference / largest);
    }
    for (int s = 0; s < steps; ++s) {
      ours.push_back(seconds([&] { session.accumulate(x, y); }));
      theirs.push_back(seconds([&] { by_hand(x.data(), y.data()); }));
    }
  }
  std::printf("%-20s %6d %12.2f %16.2f %8.2f %14.1e\n", name, batch, 1e6 * median(ours), 1e6 * median(theirs),
              median(ours) / median(theirs), error);
  return error <= 1e-5;
}

}  // namespace

int main() {
  std::printf("%-20s %6s %12s %16s %8s %14s\n", "net", "batch", "gradual us", "hand-written us", "ratio", "gradients");
  const bool same = row<64, 128, 10>("64-128-10", 64, 50) & row<784, 256, 128, 10>("784-256-128-10", 128, 15);
  if (!same) std::printf("the gradients differ by more than 1e-5: not the same work\n");
  return same ? 0 : 1;
}
