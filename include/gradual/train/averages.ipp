#pragma once
#include <gradual/train/averages.hpp>

#include <algorithm>
#include <string>

#include <gradual/core/number_text.hpp>
#include <gradual/core/error.hpp>

namespace gradual {

GRADUAL_ONCE Averages::Averages(MetricSet metrics, std::span<const double> sums, double weight, std::int64_t count,
                                NegativeWeight negative)
    : metrics_(metrics), weight_(weight), count_(count), negative_(negative) {
  std::ranges::copy(sums, sum_);
}

GRADUAL_ONCE std::span<const double> Averages::sums() const {
  return {sum_, static_cast<std::size_t>(metrics_.arrays())};
}

GRADUAL_ONCE void Averages::add(const Averages& other) {
  if (negative_.weight == 0 && other.negative_.weight < 0) negative_ = {other.negative_.weight, count_ + other.negative_.place};
  weight_ += other.weight_;
  count_ += other.count_;
  for (int k = 0; k < metrics_.arrays(); ++k) sum_[k] += other.sum_[k];
}

GRADUAL_ONCE double Averages::metric(int index) const {
  if (index < 0 || index >= metrics_.count)
    throw OptionError("metric " + std::to_string(index) + " of " + std::to_string(metrics_.count) +
                      (count_ == 0 ? ": nothing was averaged, as of validation data if .validate was not given" : ", from 0"));
  return mean(sum_[index + 1], metrics_.has_own(index) ? sum_[metrics_.weight_of(index)] : weight_);
}

GRADUAL_ONCE void Averages::check_weights(const char* of) const {
  if (negative_.weight < 0)
    throw DataError("weight " + std::to_string(negative_.place) + " of " + of + " is " + detail::brief_text(negative_.weight) +
                    detail::no_weight_below_0);
  check_weight(weight_, of);
}

GRADUAL_ONCE void check_weight(double weight, const char* of) {
  if (weight == 0 || (weight >= 0x1p-126 && weight <= 0x1p126)) return;
  throw DataError(std::string("the weights of ") + of + " sum to " + detail::brief_text(weight) +
                  ": a mean needs a sum from 2^-126 to 2^126, or 0");
}

}  // namespace gradual
