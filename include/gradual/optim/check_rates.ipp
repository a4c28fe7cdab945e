#pragma once
#include <gradual/optim/check_rates.hpp>

#include <cstdio>
#include <string>

namespace gradual::detail {

GRADUAL_ONCE void check_number(const char* name, const Scalar& number, const RateRange& range) {
  const double first = number.at(0);
  if (range.holds(first)) return;
  char text[96];
  std::snprintf(text, sizeof(text), "an optimizer's %s of %g, which must be %s", name, first, range.text);
  throw OptionError(text);
}

GRADUAL_ONCE void refuse_in_step(double value, const char* name, const RateRange& range, std::size_t index,
                                 std::int64_t steps) {
  char text[160];
  const auto step = static_cast<long long>(steps + 1);
  if (name == nullptr)
    std::snprintf(text, sizeof(text), "an optimizer's number %zu is %g in step %lld", index + 1, value, step);
  else
    std::snprintf(text, sizeof(text), "an optimizer's %s is %g in step %lld, which must be %s", name, value, step, range.text);
  throw OptionError(text);
}

}  // namespace gradual::detail
