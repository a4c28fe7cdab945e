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

/// One line on standard error, rewritten after each epoch: losses, windows that were dropped, samples per second, remaining
/// time.
class ProgressLine {
 public:
  ProgressLine(Progress when, int epochs)
      : shown_(when == Progress::always || (when == Progress::automatic && isatty(STDERR_FILENO) != 0)), epochs_(epochs) {}
  ~ProgressLine() {
    if (written_) std::fputc('\n', stderr);
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(int epoch, const Averages& training, const Averages& validation, std::int64_t dropped, double samples_per_second) {
    if (!shown_) return;
    written_ = true;
    std::fprintf(stderr, "\r\033[Kepoch %d/%d", epoch, epochs_);
    if (training.count() > 0) std::fprintf(stderr, "  loss %.4f", training.loss());
    if (validation.count() > 0) std::fprintf(stderr, "  validation %.4f", validation.loss());
    if (dropped > 0) std::fprintf(stderr, "  %lld windows dropped, not finite", static_cast<long long>(dropped));
    std::fprintf(stderr, "  %.3g samples/s  %.0f s left", samples_per_second,
                 watch_.seconds() / epoch * (epochs_ - epoch));
    std::fflush(stderr);
  }

 private:
  bool shown_, written_ = false;
  int epochs_;
  Stopwatch watch_;
};

}  // namespace gradual
