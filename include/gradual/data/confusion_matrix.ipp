#pragma once
#include <gradual/data/confusion_matrix.hpp>

#include <algorithm>
#include <ostream>
#include <string>

#include <gradual/core/error.hpp>
#include <gradual/core/math/bits.hpp>
#include <gradual/core/number_text.hpp>
#include <gradual/core/out_of_memory.hpp>

namespace gradual {

GRADUAL_ONCE ConfusionMatrix::ConfusionMatrix(std::int64_t classes) : classes_(classes) {
  if (classes <= 0 || classes >= std::int64_t{1} << 30)  // the number of bytes would overflow
    throw OptionError("ConfusionMatrix: " + std::to_string(classes) + " classes");
  or_memory_error("a confusion matrix", [&] { counts_.resize(static_cast<std::size_t>(classes * classes)); });
}

GRADUAL_ONCE std::int64_t ConfusionMatrix::classes_of(std::size_t scores, std::size_t labels) {
  if (labels == 0 || scores == 0 || scores % labels != 0)
    throw DataError("ConfusionMatrix: " + std::to_string(scores) + " scores do not make a row for each of " +
                    std::to_string(labels) + " labels");
  if (scores == labels)
    throw DataError("ConfusionMatrix: one score for each label makes one class; "
                    "for two, use ConfusionMatrix(2) and add(label, score > 0)");
  return static_cast<std::int64_t>(scores / labels);
}

GRADUAL_ONCE std::size_t ConfusionMatrix::place(std::int64_t label, std::int64_t guess) const {
  for (const std::int64_t given : {label, guess})
    if (given < 0 || given >= classes_)
      throw DataError("ConfusionMatrix: class " + std::to_string(given) + " of " + std::to_string(classes_) + ", from 0");
  return static_cast<std::size_t>(label * classes_ + guess);
}

GRADUAL_ONCE void ConfusionMatrix::add(std::int64_t label, std::int64_t guess) { ++counts_[place(label, guess)]; }

GRADUAL_ONCE std::int64_t ConfusionMatrix::labelled(std::int64_t of) const {
  std::int64_t sum = 0;
  for (std::int64_t c = 0; c < classes_; ++c) sum += count(of, c);
  return sum;
}

GRADUAL_ONCE std::int64_t ConfusionMatrix::guessed(std::int64_t of) const {
  std::int64_t sum = 0;
  for (std::int64_t c = 0; c < classes_; ++c) sum += count(c, of);
  return sum;
}

namespace detail {
inline double share(std::int64_t some, std::int64_t all) {
  return all == 0 ? math::quiet_nan<double>() : static_cast<double>(some) / static_cast<double>(all);
}
}  // namespace detail

GRADUAL_ONCE double ConfusionMatrix::accuracy() const {
  std::int64_t right = 0, all = 0;
  for (std::int64_t c = 0; c < classes_; ++c) right += count(c, c), all += labelled(c);
  return detail::share(right, all);
}
GRADUAL_ONCE double ConfusionMatrix::precision(std::int64_t of) const { return detail::share(count(of, of), guessed(of)); }
GRADUAL_ONCE double ConfusionMatrix::recall(std::int64_t of) const { return detail::share(count(of, of), labelled(of)); }
GRADUAL_ONCE double ConfusionMatrix::f1(std::int64_t of) const {
  return detail::share(2 * count(of, of), labelled(of) + guessed(of));
}

GRADUAL_ONCE double ConfusionMatrix::mean(double (ConfusionMatrix::*score)(std::int64_t) const) const {
  double sum = 0;
  std::int64_t occurring = 0;
  for (std::int64_t c = 0; c < classes_; ++c) {
    if (labelled(c) + guessed(c) == 0) continue;
    const double one = (this->*score)(c);
    ++occurring;
    sum += one == one ? one : 0;
  }
  return occurring == 0 ? math::quiet_nan<double>() : sum / static_cast<double>(occurring);
}

GRADUAL_ONCE std::ostream& operator<<(std::ostream& out, const ConfusionMatrix& matrix) {
  const auto cell = [](std::size_t width, const std::string& text) {
    return std::string(width - std::min(width, text.size()), ' ') + text;
  };
  const auto share = [](double number) { return detail::fixed_text(number, 4); };
  std::string text = "label \\ guess";
  for (std::int64_t c = 0; c < matrix.classes(); ++c) text += ' ' + cell(6, std::to_string(c));
  text += "  precision  recall      f1\n";
  for (std::int64_t label = 0; label < matrix.classes(); ++label) {
    text += cell(13, std::to_string(label));
    for (std::int64_t c = 0; c < matrix.classes(); ++c) text += ' ' + cell(6, std::to_string(matrix.count(label, c)));
    text += "  " + cell(9, share(matrix.precision(label))) + "  " + cell(6, share(matrix.recall(label))) + "  " +
            cell(6, share(matrix.f1(label))) + '\n';
  }
  return out << text << "accuracy " << share(matrix.accuracy()) << ", macro f1 " << share(matrix.macro_f1()) << '\n';
}

}  // namespace gradual
