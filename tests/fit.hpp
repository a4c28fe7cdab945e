#pragma once
// Shared by tests of how fits go on and end.
#include "resume.hpp"

namespace fit {

using namespace resume;

struct Fit : Resume {
  const std::vector<float> x = numbers(100 * 9);
  const std::vector<std::int32_t> y = labels(100, 5);
  using Data = Dataset<float, std::int32_t>;
  const Data data{x, y};
  const TrainerOptions options{.global_batch = 32, .micro_batch = 16, .seed = 4};  // 4 steps and 7 micro-batches an epoch
  using Classifiers = Trainer<ClassifierNet, Accumulate<Adam>>;
  Classifiers trainer{ClassifierNet{}, optimizer, options};

  std::vector<float> learned() const {
    const auto values = trainer.parameters().values();
    return {values.begin(), values.end()};
  }
};

}  // namespace fit
