#pragma once
#include <gradual/data/scored_samples.hpp>

#include <string>

#include <gradual/core/config.hpp>
#include <gradual/core/error.hpp>
#include <gradual/core/number_text.hpp>

namespace gradual::detail {

GRADUAL_ONCE void refuse_scores(const char* asked, std::size_t scores, std::size_t others, const char* what) {
  throw DataError(std::string(asked) + ": " + std::to_string(scores) + " scores, " + std::to_string(others) + " " + what);
}
GRADUAL_ONCE void refuse_scores(const char* asked, std::size_t sample, double score, double label, double weight) {
  throw DataError(std::string(asked) + ": sample " + std::to_string(sample) + ": " +
                  (score != score             ? "a score that is NaN"
                   : label != 0 && label != 1 ? "label " + brief_text(label) + ", which is not 0 or 1"
                                              : "a weight of " + brief_text(weight)));
}

}  // namespace gradual::detail
