#pragma once
#include <unistd.h>

#include <algorithm>
#include <cstdio>
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
  ProgressLine(Progress when, int complete, int epochs)
      : rewritten_(isatty(STDERR_FILENO) != 0),
        shown_(when == Progress::always || (when == Progress::automatic && rewritten_)), complete_(complete), epochs_(epochs) {}
  ~ProgressLine() {
    if (open_) std::fputc('\n', stderr);
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// `epoch`: of this line's, from 1.
  void show(int epoch, const EpochRecord& seen, std::span<const Name> metrics, double samples_per_second) {
    if (!shown_) return;
    std::fprintf(stderr, "%sepoch %d/%d", rewritten_ ? "\r\033[K" : "", complete_ + epoch, complete_ + epochs_);
    if (seen.training.count() > 0) std::fprintf(stderr, "  loss %.5g", seen.training.loss());
    if (seen.validation.count() > 0) std::fprintf(stderr, "  validation %.5g", seen.validation.loss());
    const Averages& of = seen.validation.count() > 0 ? seen.validation : seen.training;
    for (std::size_t m = 0; m < std::min(metrics.size(), most_metrics) && of.count() > 0; ++m)
      std::fprintf(stderr, "  %s %.5g", metrics[m].text, of.metric(static_cast<int>(m)));
    if (seen.dropped_windows > 0)
      std::fprintf(stderr, "  %lld windows dropped, not finite", static_cast<long long>(seen.dropped_windows));
    std::fprintf(stderr, "  %.3g samples/s  %.0f s left%s", samples_per_second, watch_.seconds() / epoch * (epochs_ - epoch),
                 rewritten_ ? "" : "\n");
    std::fflush(stderr);
    open_ = rewritten_;
  }
  /// That the parameters are again those after `epoch` epochs.
  void restored(int epoch) {
    if (!shown_) return;
    std::fprintf(stderr, "%sepoch %d was the best: its parameters are restored\n", open_ ? "\n" : "", epoch);
    open_ = false;
  }

 private:
  static constexpr std::size_t most_metrics = 3;  // a line of a terminal has no room for more

  bool rewritten_, shown_, open_ = false;
  int complete_, epochs_;
  Stopwatch watch_;
};

}  // namespace gradual
