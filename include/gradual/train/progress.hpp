#pragma once
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include <gradual/train/averages.hpp>

namespace gradual {

/// When a progress line is shown: on a terminal, always, or never.
enum class Progress : unsigned char { automatic, always, never };

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// What a fit says on standard error after each epoch: losses, windows that were dropped, samples per second, remaining
/// time. On a terminal a line that is rewritten, elsewhere a line each.
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
  void show(int epoch, const Averages& training, const Averages& validation, std::int64_t dropped, double samples_per_second) {
    if (!shown_) return;
    std::fprintf(stderr, "%sepoch %d/%d", rewritten_ ? "\r\033[K" : "", complete_ + epoch, complete_ + epochs_);
    if (training.count() > 0) std::fprintf(stderr, "  loss %.4f", training.loss());
    if (validation.count() > 0) std::fprintf(stderr, "  validation %.4f", validation.loss());
    if (dropped > 0) std::fprintf(stderr, "  %lld windows dropped, not finite", static_cast<long long>(dropped));
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
  bool rewritten_, shown_, open_ = false;
  int complete_, epochs_;
  Stopwatch watch_;
};

}  // namespace gradual
