#pragma once
#include <span>

#include <gradual/core/message.hpp>
#include <gradual/core/stopwatch.hpp>
#include <gradual/train/epoch_record.hpp>

namespace gradual {

/// When a progress line is shown: on a terminal, always, or never.
enum class Progress : unsigned char { automatic, always, never };

/// The progress report of a fit on standard error after each epoch: losses, metrics of validation or else training, dropped
/// windows, samples per second, remaining time. On a terminal, one line that is rewritten; elsewhere, a line for each epoch.
class ProgressLine {
 public:
  /// For `epochs` epochs that follow `complete` earlier ones.
  ProgressLine(Progress when, int complete, int epochs);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Shows an epoch, counted from 1 within this fit.
  void show(int epoch, const EpochRecord& seen, std::span<const Name> metrics, double samples_per_second);
  /// Reports that the parameters after `epoch` epochs have been restored.
  void restored(int epoch);

 private:
  static constexpr std::size_t most_metrics = 3;  // a terminal's line has no room for more

  bool rewritten_, shown_, open_ = false;
  std::int64_t complete_, epochs_;
  Stopwatch watch_;
};

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/train/progress.ipp>
#endif
