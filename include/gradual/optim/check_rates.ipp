#pragma once
#include <gradual/optim/check_rates.hpp>

#include <cstdio>
#include <string>

namespace gradual::detail {

GRADUAL_ONCE void check_number(const char* name, const Scalar& number, const RateRange& range) {
  const double first = number.at(0);
  if (first >= 0 && first < range.end) return;
  char text[96];
  std::snprintf(text, sizeof(text), "an optimizer's %s of %g, which must be %s", name, first, range.text);
  throw OptionError(text);
}

GRADUAL_ONCE void refuse_in_step(double value, std::size_t index, std::int64_t steps) {
  throw OptionError("an optimizer's number " + std::to_string(index + 1) + " is " + std::to_string(value) + " in step " +
                    std::to_string(steps + 1));
}

}  // namespace gradual::detail
