#pragma once
#include <gradual/train/progress.hpp>

#if defined(_WIN32)
#include <gradual/core/windows.hpp>
#else
#include <unistd.h>
#endif

#include <algorithm>
#include <cstdio>

#include <gradual/core/number_text.hpp>

namespace gradual::detail {

/// Whether what is written to stderr can be rewritten.
inline bool rewrites_errors() {
#if defined(_WIN32)
  void* const console = windows::standard_handle(windows::error_output);
  std::uint32_t mode = 0;
  return windows::console_mode(console, &mode) != 0 &&
         windows::set_console_mode(console, mode | windows::escape_sequences) != 0;
#else
  return ::isatty(STDERR_FILENO) != 0;
#endif
}

}  // namespace gradual::detail

namespace gradual {

GRADUAL_ONCE ProgressLine::ProgressLine(Progress when, int complete, int epochs)
    : rewritten_(when != Progress::never && detail::rewrites_errors()),
      shown_(when == Progress::always || rewritten_),
      complete_(complete),
      epochs_(epochs) {}

GRADUAL_ONCE ProgressLine::~ProgressLine() {
  if (open_) std::fputc('\n', stderr);
}

GRADUAL_ONCE void ProgressLine::show(int epoch, const EpochRecord& seen, std::span<const Name> metrics,
                                     double samples_per_second) {
  if (!shown_) return;
  const auto brief = [](double number) { return detail::brief_text(number, 5); };
  FixedText<600> line;  // written at once: other threads may report fits of their own
  line << (rewritten_ ? "\r\033[K" : "") << "epoch " << complete_ + epoch << "/" << complete_ + epochs_;
  if (seen.training.count() > 0) line << "  loss " << brief(seen.training.loss());
  if (seen.validation.count() > 0) line << "  validation " << brief(seen.validation.loss());
  const Averages& of = seen.validation.count() > 0 ? seen.validation : seen.training;
  for (std::size_t m = 0; m < std::min(metrics.size(), most_metrics) && of.count() > 0; ++m)
    line << "  " << metrics[m].view() << " " << brief(of.metric(static_cast<int>(m)));
  if (seen.dropped_windows > 0) line << "  " << seen.dropped_windows << " windows dropped, not finite";
  line << "  " << detail::brief_text(samples_per_second, 3) << " samples/s  "
       << detail::fixed_text(watch_.seconds() / epoch * static_cast<double>(epochs_ - epoch), 0) << " s left"
       << (rewritten_ ? "" : "\n");
  std::fputs(line.text, stderr);
  std::fflush(stderr);
  open_ = rewritten_;
}

GRADUAL_ONCE void ProgressLine::restored(int epoch) {
  if (!shown_) return;
  std::fprintf(stderr, "%sepoch %d was the best: its parameters are restored\n", open_ ? "\n" : "", epoch);
  open_ = false;
}

}  // namespace gradual
