#pragma once
#include <gradual/check/test_rule.hpp>

#include <bit>
#include <ostream>

#include <gradual/check/drawn_numbers.hpp>
#include <gradual/core/math/all_finite.hpp>
#include <gradual/train/notes.hpp>

namespace gradual::detail {

GRADUAL_ONCE std::vector<float> gradient_of(StepGradient kind, const std::vector<float>& start, int step) {
  if (kind == StepGradient::start) return start;
  std::vector<float> gradient(start.size());
  DrawnNumbers random{static_cast<std::uint64_t>(step)};
  if (kind == StepGradient::drawn)
    for (float& value : gradient) value = static_cast<float>(random.part());
  return gradient;
}

/// Returns "element 3 of parameter 'matrix'", or "element 3 of state 1 of 'matrix'".
inline std::string place_in_update(const Tape& update, int array, std::int64_t element) {
  const UpdateParts parts(update);
  int p = 0;
  while (element >= parts.part_begin(array, p) + parts.part_elements(array, p)) ++p;
  return "element " + std::to_string(element - parts.part_begin(array, p)) + " of " +
         (array == 0 ? "parameter" : "state " + std::to_string(array - 2) + " of") + " '" +
         update.parameters[static_cast<std::size_t>(p)].name.string() + "'";
}

/// Calls note(array, element) for the first wrong element of parameters or states. Returns whether there is none.
template <class IsWrong, class Note>
bool none_is(const UpdateArrays& arrays, IsWrong wrong, Note note) {
  for (std::size_t a = 0; a < arrays.size(); ++a)
    for (std::size_t i = 0; a != 1 && i < arrays[a].size(); ++i)
      if (wrong(a, i)) return note(a, i), false;
  return true;
}

GRADUAL_ONCE bool check_step(RuleCheck& check, const Tape& update, const std::string& when, const UpdateArrays& before,
                             const UpdateArrays& after, const UpdateArrays& eager, int step) {
  UpdateArrays given = before;
  given[1] = after[1];
  const UpdateArrays reference = reference_update(update, given, 1, step, rule_check_seed);
  ++check.steps;
  const auto note = [&](std::size_t a, std::size_t i, const std::string& what) {
    check.mistakes.push_back(when + ": " + place_in_update(update, static_cast<int>(a), static_cast<std::int64_t>(i)) + " is " +
                             what);
  };
  const auto is_as = [&](const UpdateArrays& other, const char* how) {
    const auto differs = [&](std::size_t a, std::size_t i) {
      const float x = after[a][i], y = other[a][i];
      return (x == x || y == y) && std::bit_cast<std::uint32_t>(x) != std::bit_cast<std::uint32_t>(y);
    };
    return none_is(after, differs, [&](std::size_t a, std::size_t i) {
      note(a, i, exact_text(after[a][i]) + " compiled, " + how + exact_text(other[a][i]));
    });
  };
  const auto is_wild = [&](std::size_t a, std::size_t i) { return !math::is_finite(after[a][i]); };
  return is_as(reference, "by the reference ") && is_as(eager, "eagerly ") &&
         none_is(after, is_wild, [&](std::size_t a, std::size_t i) {
           note(a, i, after[a][i] != after[a][i] ? "not a number" : "infinite");
         });
}

GRADUAL_ONCE bool check_direction(RuleCheck& check, const UpdateArrays& before, const UpdateArrays& after) {
  double up = 0;
  for (std::size_t i = 0; i < before[0].size(); ++i)
    up += static_cast<double>(after[1][i]) * (static_cast<double>(after[0][i]) - static_cast<double>(before[0][i]));
  if (up > 0) check.mistakes.push_back("the first step goes up the gradient");
  return after[0] != before[0];
}

}  // namespace gradual::detail

namespace gradual {

GRADUAL_ONCE std::ostream& operator<<(std::ostream& out, const RuleCheck& check) {
  out << check.steps << " steps compared, " << (check.by_element ? "element by element, " : "") << check.mistakes.size()
      << " mistakes\n";
  for (const std::string& mistake : check.mistakes) out << mistake << '\n';
  return out;
}

}  // namespace gradual
