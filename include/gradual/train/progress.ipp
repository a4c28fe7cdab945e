#pragma once
#include <gradual/train/progress.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include <gradual/core/number_text.hpp>

namespace gradual {

GRADUAL_ONCE ProgressLine::ProgressLine(Progress when, int complete, int epochs)
    : rewritten_(isatty(STDERR_FILENO) != 0),
      shown_(when == Progress::always || (when == Progress::automatic && rewritten_)),
      complete_(complete),
      epochs_(epochs) {}

GRADUAL_ONCE ProgressLine::~ProgressLine() {
  if (open_) std::fputc('\n', stderr);
}

GRADUAL_ONCE void ProgressLine::show(int epoch, const EpochRecord& seen, std::span<const Name> metrics,
                                     double samples_per_second) {
  if (!shown_) return;
  const auto brief = [](double number) { return detail::brief_text(number, 5); };
  std::fprintf(stderr, "%sepoch %lld/%lld", rewritten_ ? "\r\033[K" : "", static_cast<long long>(complete_ + epoch),
               static_cast<long long>(complete_ + epochs_));
  if (seen.training.count() > 0) std::fprintf(stderr, "  loss %s", brief(seen.training.loss()).c_str());
  if (seen.validation.count() > 0) std::fprintf(stderr, "  validation %s", brief(seen.validation.loss()).c_str());
  const Averages& of = seen.validation.count() > 0 ? seen.validation : seen.training;
  for (std::size_t m = 0; m < std::min(metrics.size(), most_metrics) && of.count() > 0; ++m)
    std::fprintf(stderr, "  %s %s", metrics[m].text, brief(of.metric(static_cast<int>(m))).c_str());
  if (seen.dropped_windows > 0)
    std::fprintf(stderr, "  %lld windows dropped, not finite", static_cast<long long>(seen.dropped_windows));
  std::fprintf(stderr, "  %s samples/s  %.0f s left%s", detail::brief_text(samples_per_second, 3).c_str(),
               watch_.seconds() / epoch * static_cast<double>(epochs_ - epoch), rewritten_ ? "" : "\n");
  std::fflush(stderr);
  open_ = rewritten_;
}

GRADUAL_ONCE void ProgressLine::restored(int epoch) {
  if (!shown_) return;
  std::fprintf(stderr, "%sepoch %d was the best: its parameters are restored\n", open_ ? "\n" : "", epoch);
  open_ = false;
}

}  // namespace gradual
