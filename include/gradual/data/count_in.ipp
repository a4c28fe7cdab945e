#pragma once
#include <gradual/data/count_in.hpp>

#include <string>

#include <gradual/core/config.hpp>
#include <gradual/core/error.hpp>
#include <gradual/core/number_text.hpp>

namespace gradual::detail {

GRADUAL_ONCE void refuse_share(double share, std::int64_t size) {
  throw DataError("split: a share of " + brief_text(share) + " of " + std::to_string(size) + " leaves one part empty" +
                  (share > 1 ? "; 0.8 is 80%" : ""));
}

}  // namespace gradual::detail
