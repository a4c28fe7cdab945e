// A whole training step (forward, loss, backward, Adam) against libtorch's own training loop: one thread, the same
// start and data, medians of interleaved rounds, in each of which each side takes its steps one after another, as training
// does. The smallest net's steps are timed ten at a time: two readings of the clock take 3 to 5% of such a step. The
// gradients of the first step, against libtorch's in double, show that both do the same work.
#include "libtorch_at_its_best.hpp"
#include "torch_net.hpp"

#include <cstdio>

using namespace nets;

namespace {

template <class Model, class Target, class Real = float>
void compare(const char* name, int batch, int readings, int steps = 1) {
  using Net = NetOf<Model, Target, Real>;
  const Samples<Model, Target, Real> samples(batch);
  const Samples<Model, Target, double> exact_samples(batch);
  std::vector<double> ours, theirs, peaks;
  double error = 0;
  for (int round = 0; round < 7; ++round) {
    Session session(Net{}, Accumulate{Adam{}}, {.global_batch = batch, .seed = static_cast<std::uint64_t>(round)});
    TorchTraining<Model, Target, Real> torch_training(samples, session.parameters());
    TorchTraining<Model, Target, double> exact(exact_samples, session.parameters());
    session.accumulate(samples.x, samples.y);
    torch_training.step();
    exact.step();
    std::vector<const Real*> gradients;
    for (int i = 0; i < Model::count; ++i) gradients.push_back(session.accumulator().data() + Net::parameter_offset(2 * i));
    error = std::max(error, exact.error(gradients));
    peaks.push_back(fma_peak<Real>());
    const auto time = [&](std::vector<double>& times, auto step) {
      for (int r = 0; r < readings; ++r)
        times.push_back(seconds([&] { for (int s = 0; s < steps; ++s) step(); }) / steps);
    };
    time(ours, [&] { session.accumulate(samples.x, samples.y); });
    time(theirs, [&] { torch_training.step(); });
  }
  const double a = median(ours), b = median(theirs);
  std::printf("%-26s %6d %12.2f %12.2f %8.1f %12.2f %14.1e\n", name, batch, 1e6 * a, 1e6 * b, b / a,
              step_flops<Model>(batch) / a / median(peaks), error);
}

}  // namespace

int main() {
  run_libtorch_at_its_best();
  std::printf("%-26s %6s %12s %12s %8s %12s %14s\n", "net", "batch", "gradual us", "libtorch us", "ratio", "of FMA peak",
              "gradients");
  compare<Tiny, f32[1]>("2-16-16-1 tanh mse", 32, 20, 10);
  compare<Classifier<64, 128, 10>, i32>("64-128-10", 64, 60);
  compare<Classifier<784, 256, 128, 10>, i32>("784-256-128-10", 128, 20);
  compare<Classifier<1024, 1024, 1024, 10>, i32>("1024-1024-1024-10", 256, 4);
  compare<Tiny, f64[1], double>("2-16-16-1 in double", 32, 20, 10);
  compare<Classifier<64, 128, 10>, i32, double>("64-128-10 in double", 64, 60);
}
