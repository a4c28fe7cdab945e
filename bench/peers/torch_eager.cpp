// An eager training step (recorded anew each time: forward, loss, backward, Adam) against libtorch's own training loop:
// one thread, the same start and data, medians of interleaved rounds. The gradients of the first step, against
// libtorch's in double, show that both do the same work.
#include "libtorch_at_its_best.hpp"
#include "torch_net.hpp"

#include <cstdio>

using namespace nets;

namespace {

template <class Model, class Target>
void compare(const char* name, int batch, int steps) {
  const Samples<Model, Target> samples(batch);
  const Samples<Model, Target, double> exact_samples(batch);
  std::vector<double> ours, theirs;
  double error = 0;
  for (int round = 0; round < 7; ++round) {
    Parameters parameters(Device::cpu());
    const Model net(parameters.root());
    Session session(parameters, Accumulate{Adam{}}, {.global_batch = batch, .seed = static_cast<std::uint64_t>(round)});
    TorchTraining<Model, Target> torch_training(samples, parameters);
    TorchTraining<Model, Target, double> exact(exact_samples, parameters);
    const auto step = [&] {
      session.accumulate(batch, [&](EagerTape& tape) {
        return net.loss(tape.input(samples.x, {Model::width[0]}),
                        tape.input(samples.y, gradual::detail::sample_shape<Target>()));
      });
    };
    step();
    torch_training.step();
    exact.step();
    std::vector<const float*> gradients;
    for (std::size_t i = 0; i < static_cast<std::size_t>(Model::count); ++i)
      gradients.push_back(session.last_gradient().data() + parameters.offsets()[2 * i]);
    error = std::max(error, exact.error(gradients));
    for (int s = 0; s < steps; ++s) {
      ours.push_back(seconds(step));
      theirs.push_back(seconds([&] { torch_training.step(); }));
    }
  }
  const double a = median(ours), b = median(theirs);
  std::printf("%-26s %6d %12.2f %12.2f %8.1f %14.1e\n", name, batch, 1e6 * a, 1e6 * b, b / a, error);
}

}  // namespace

int main() {
  run_libtorch_at_its_best();
  std::printf("%-26s %6s %12s %12s %8s %14s\n", "net", "batch", "eager us", "libtorch us", "ratio", "gradients");
  compare<Tiny, f32[1]>("2-16-16-1 tanh mse", 32, 100);
  compare<Classifier<64, 128, 10>, i32>("64-128-10", 64, 60);
  compare<Classifier<784, 256, 128, 10>, i32>("784-256-128-10", 128, 20);
  compare<Classifier<1024, 1024, 1024, 10>, i32>("1024-1024-1024-10", 256, 4);
}
