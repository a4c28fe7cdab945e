#pragma once
#include <gradual/train/fit_options.hpp>

#include <gradual/core/error.hpp>

namespace gradual::detail {

GRADUAL_ONCE SessionOptions session_options(const TrainerOptions& options) {
  if (options.global_batch <= 0)
    throw OptionError("Trainer: a global batch of " + std::to_string(options.global_batch) +
                      "; .global_batch is the number of samples for each step");
  SessionOptions result;
  result.global_batch = options.global_batch;
  result.micro_batch = options.micro_batch;
  result.memory_budget = options.memory_budget;
  result.open_blocks = options.tail == Tail::step ? options.open_blocks : OpenBlocks::always;  // epochs may end anywhere
  result.seed = options.seed;
  result.threads = options.threads;
  result.freeze = options.freeze;
  result.non_finite = options.non_finite;
  result.reduction = options.reduction;
  result.window_samples = options.window_samples;
  result.window_weight = options.window_weight;
  result.noise_batch = options.noise_batch;
  result.evaluate_drawing = options.evaluate_drawing;
  return result;
}

GRADUAL_ONCE void check_trainer_windows(std::int64_t calls, bool evaluates_twice, Tail tail) {
  if (calls != 0)
    throw OptionError("Trainer: windows of " + std::to_string(calls) +
                      " calls are for sessions; a trainer's are counted in samples");
  if (evaluates_twice && tail == Tail::carry)
    throw OptionError("Trainer: the optimizer evaluates each window twice, so none can be carried into the next epoch");
}

}  // namespace gradual::detail
