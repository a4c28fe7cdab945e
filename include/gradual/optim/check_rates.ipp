#pragma once
#include <gradual/optim/check_rates.hpp>

#include <string>

#include <gradual/core/number_text.hpp>

namespace gradual::detail {

GRADUAL_ONCE void check_number(const char* name, const Scalar& number, const RateRange& range) {
  const double first = number.at(0);
  if (range.holds(first)) return;
  throw OptionError(std::string("an optimizer's ") + name + " of " + brief_text(first) + ", which must be " + range.text);
}

GRADUAL_ONCE void refuse_in_step(double value, const char* name, const RateRange& range, std::size_t index,
                                 std::int64_t steps) {
  const std::string is = " is " + brief_text(value) + " in step " + std::to_string(steps + 1);
  if (name == nullptr) throw OptionError("an optimizer's number " + std::to_string(index + 1) + is);
  throw OptionError(std::string("an optimizer's ") + name + is + ", which must be " + range.text);
}

}  // namespace gradual::detail
