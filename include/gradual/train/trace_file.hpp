#pragma once
#include <string>
#include <utility>
#include <vector>

#include <gradual/core/process_usage.hpp>
#include <gradual/train/trainer.hpp>

namespace gradual {

namespace detail {
struct TraceNumber {
  const char* name = nullptr;
  double value = 0;
};
/// A span of time or, where `duration` is negative, counters at a point in time. In seconds.
struct TraceEvent {
  const char* name;
  double begin, duration;
  TraceNumber numbers[3];
};
}  // namespace detail

/// A record of what happens when in training, with the bytes of the session and of the whole process, as a file for
/// https://ui.perfetto.dev or chrome://tracing. Does not affect training.
///   TraceFile trace;
///   trainer.fit(data, trace.following(trainer, {.epochs = 3}));
///   trace.save("run.json");
class TraceFile {
 public:
  /// `most`: the number of events kept, about 100 bytes each; later ones are only counted, in the file's "otherData".
  explicit TraceFile(std::size_t most = 200'000) : most_(most) { sample({}); }

  /// Returns the options of a fit with callbacks added that record it; existing callbacks are still called. Trainer and trace
  /// must outlive the fit. For a trainer without a plan, the file holds no bytes of its session.
  template <class Net, class Optimizer>
  auto following(const Trainer<Net, Optimizer>& trainer, typename Trainer<Net, Optimizer>::Options options) {
    resume();
    options.on_micro_batch = [this, &trainer, then = std::move(options.on_micro_batch)](std::int64_t samples) {
      micro_batch(samples, planned_memory(trainer));
      if (then) then(samples);
    };
    options.on_step = [this, then = std::move(options.on_step)](std::int64_t number, const Averages& window) {
      step(number, window);
      if (then) then(number, window);
    };
    options.on_epoch = [this, then = std::move(options.on_epoch)](const auto& record) {
      slice("after the epoch", now_, {"epoch", static_cast<double>(record.epoch)});
      step_begin_ = now_;
      if (then) then(record);
    };
    return options;
  }

  // For custom loops: each call ends an interval that began where the previous one ended.

  /// Begins training, or continues it after something that should not be recorded.
  void resume() { now_ = step_begin_ = watch_.seconds(); }
  /// Records that a micro-batch has ended; the last of a window includes its update. `memory`: that of its session.
  void micro_batch(std::int64_t samples, const MemoryTable& memory);
  /// Records that the optimizer's step `number`, counting those of a loaded state, has ended with its last micro-batch.
  void step(std::int64_t number, const Averages& window);

  /// Errors: FileError where it cannot be written; MemoryError.
  void save(const std::string& path) const;

 private:
  template <class AnyTrainer>
  static MemoryTable planned_memory([[maybe_unused]] const AnyTrainer& trainer) {
    if constexpr (requires { trainer.memory(); }) return trainer.memory();
    else return {};
  }
  bool room();
  void slice(const char* name, double begin, detail::TraceNumber number);

  /// Records the session's counters where they have changed, and the system's once a millisecond has passed.
  void sample(const MemoryTable& memory);

  std::size_t most_;
  std::uint64_t left_out_ = 0;
  std::vector<detail::TraceEvent> events_;
  Stopwatch watch_;
  double now_ = 0, step_begin_ = 0, sampled_ = -1;
  std::int64_t bytes_ = 0;
  ProcessUsage usage_;
};

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/train/trace_file.ipp>
#endif
