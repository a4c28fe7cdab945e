#pragma once
#include <gradual/core/weighted_draw.hpp>

#include <algorithm>
#include <limits>
#include <string>

#include <gradual/core/config.hpp>
#include <gradual/core/error.hpp>
#include <gradual/core/fnv.hpp>
#include <gradual/core/number_text.hpp>
#include <gradual/core/philox.hpp>
#include <gradual/core/shuffle.hpp>

namespace gradual {

GRADUAL_ONCE WeightedDraw::WeightedDraw(std::span<const double> weights) {
  sums_.reserve(weights.size());
  for (const double weight : weights) {
    if (!(weight >= 0 && weight <= std::numeric_limits<double>::max()))
      throw DataError("draw: sample " + std::to_string(sums_.size()) + ": a weight of " + detail::brief_text(weight));
    sums_.push_back(total_ += weight);
  }
  if (total_ == 0) throw DataError("draw: the weights of all " + std::to_string(weights.size()) + " samples are 0");
  if (total_ > std::numeric_limits<double>::max())
    throw DataError("draw: the weights of " + std::to_string(weights.size()) + " samples have an infinite sum");
  sums_.erase(std::ranges::lower_bound(sums_, total_), sums_.end());  // what lies beyond the others is the last that weighs
}

GRADUAL_ONCE void WeightedDraw::operator()(std::span<std::int32_t> order, std::uint64_t seed, std::uint64_t epoch) const {
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double place = uniform<double>(seed, shuffle_stream | epoch, i) * total_;
    order[i] = static_cast<std::int32_t>(std::ranges::upper_bound(sums_, place) - sums_.begin());
  }
}

GRADUAL_ONCE std::uint64_t WeightedDraw::hash() const {
  return fnv(fnv(fnv_begin, std::as_bytes(std::span(sums_))), std::as_bytes(std::span(&total_, 1)));
}

}  // namespace gradual
