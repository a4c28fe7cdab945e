#pragma once
// Compares sums over the samples of a window, computed in parts of the window and of the outputs, with the expected bits.
#include <gtest/gtest.h>

#include <gradual/core/cpu/batch_contraction.hpp>
#include <string>

#include "kernels.hpp"

namespace kernels {

/// Adds a window of samples with p positions each to `expected.size()` sums: calls run(part of the window, workspace, part
/// of the outputs) for every part, each time with its own workspace, and with memory for open blocks only where a part
/// ends inside a block. W: the type of the sums of blocks of T.
template <class T, class W, class Run>
void expect_window(const std::vector<W>& expected, std::int64_t samples, std::int64_t p, std::int64_t workspace,
                   const std::string& what, Run run) {
  for (const std::vector<std::int64_t>& split : splits(samples))
    for (const int parts : {1, 3}) {
      const auto outputs = static_cast<std::int64_t>(expected.size());
      Memory<W> total(outputs);
      Memory<T> open(outputs);
      bool opens = false;
      std::int64_t begin = 0;
      for (const std::int64_t count : split) {
        begin += count;
        opens = opens || (begin < samples && block_of(begin * p, p) == block_of(begin * p - 1, p));
      }
      begin = 0;
      for (const std::int64_t count : split) {
        for (int part = 0; part < parts; ++part) {
          Memory<T> space(workspace);
          run(gradual::cpu::WindowPart<T, W>{total.data(), opens ? open.data() : nullptr, begin * p, count * p,
                                             begin == 0, begin + count == samples},
              space.data(), gradual::cpu::Part{part, parts});
          EXPECT_TRUE(space.kept_inside()) << what;
        }
        begin += count;
      }
      EXPECT_TRUE(total.kept_inside() && open.kept_inside()) << what;
      EXPECT_EQ(first_difference(total, expected), -1) << what << ", " << split.size() << " parts of the window from "
                                                       << split[0] << " on, " << parts << " parts of the outputs";
    }
}

}  // namespace kernels
