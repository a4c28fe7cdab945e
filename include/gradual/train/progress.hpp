#pragma once
#include <span>

#include <gradual/core/message.hpp>
#include <gradual/core/stopwatch.hpp>
#include <gradual/train/epoch_record.hpp>

namespace gradual {

/// When a progress line is shown: on a terminal, always, or never.
enum class Progress : unsigned char { automatic, always, never };

/// What a fit says on standard error after each epoch: losses, metrics of what was validated, or else learned, windows that were
/// dropped, samples per second, remaining time. On a terminal a line that is rewritten, elsewhere a line each.
class ProgressLine {
 public:
  /// Of `epochs` epochs after some that are `complete`.
  ProgressLine(Progress when, int complete, int epochs);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// `epoch`: of this line's, from 1.
  void show(int epoch, const EpochRecord& seen, std::span<const Name> metrics, double samples_per_second);
  /// That the parameters are again those after `epoch` epochs.
  void restored(int epoch);

 private:
  static constexpr std::size_t most_metrics = 3;  // a line of a terminal has no room for more

  bool rewritten_, shown_, open_ = false;
  std::int64_t complete_, epochs_;
  Stopwatch watch_;
};

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/train/progress.ipp>
#endif
