#pragma once
#include <gradual/train/validate.hpp>

#include <gradual/autodiff/label_text.hpp>
#include <gradual/core/number_text.hpp>
#include <gradual/train/averages.hpp>

namespace gradual::detail {

/// Refuses a value at `place` of an input that cannot be learned from.
[[noreturn, gnu::cold]] inline void refuse_value(int input, std::size_t place, std::int64_t width,
                                                 const std::string& what) {
  throw DataError("input " + std::to_string(input) + ", sample " + std::to_string(static_cast<std::int64_t>(place) / width) +
                  ": " + what);
}

GRADUAL_ONCE void refuse_number(int input, std::size_t place, std::int64_t width, float value) {
  const std::string number = std::to_string(static_cast<std::int64_t>(place) % width);
  refuse_value(input, place, width, "value " + number + " is " + (value != value ? "NaN" : "infinite"));
}

GRADUAL_ONCE void refuse_weight(int input, std::size_t place, std::int64_t width, double weight) {
  const std::string number = std::to_string(static_cast<std::int64_t>(place) % width);
  refuse_value(input, place, width, "weight " + number + " is " + brief_text(weight) + no_weight_below_0);
}

GRADUAL_ONCE void refuse_label(int input, std::size_t place, std::int64_t width, std::int64_t label, const LabelRange& among) {
  const std::string found = std::to_string(label);
  const std::string of_many = std::to_string(static_cast<std::int64_t>(place) % width) + " is " + found + ",";
  const std::string is = (width == 1 ? found + " is" : of_many) + " outside the " + all_of(among);
  refuse_value(input, place, width, std::string(noun_of(among)) + " " + is);
}

GRADUAL_ONCE void refuse_size(std::size_t input, std::int64_t values, std::int64_t width, std::int64_t first_values,
                              std::int64_t first_width) {
  const std::string name = "input " + std::to_string(input), count = std::to_string(values) + " values";
  if (values % width != 0) throw DataError(name + ": " + count + " are not whole samples of " + std::to_string(width));
  throw DataError(name + " holds " + std::to_string(values / width) + " samples (" + count + "), input 0 holds " +
                  std::to_string(first_values / first_width) + " (" + std::to_string(first_values) + " values, " +
                  std::to_string(first_width) + " for each)");
}

GRADUAL_ONCE void refuse_parameters(const char* by, std::int64_t parameters, std::size_t given) {
  throw DataError(std::string(by) + ": the net has " + std::to_string(parameters) + " parameters, got " +
                  std::to_string(given));
}

GRADUAL_ONCE void refuse_state(int index, int states) {
  throw OptionError("the optimizer's state " + std::to_string(index) + " of " + std::to_string(states));
}

GRADUAL_ONCE void refuse_gradients(std::int64_t parameters, std::size_t given, double weight) {
  throw DataError("apply: the net has " + std::to_string(parameters) + " parameters, got " + std::to_string(given) +
                  " gradients of weight " + brief_text(weight) + ", which must be positive");
}

}  // namespace gradual::detail
