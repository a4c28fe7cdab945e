#pragma once
#include <gradual/data/folds.hpp>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include <gradual/core/config.hpp>
#include <gradual/core/error.hpp>
#include <gradual/data/shuffled_rows.hpp>

namespace gradual {

namespace detail {
/// Returns the rows of each label, in an order that depends on the seed.
inline std::map<std::int32_t, std::vector<std::int32_t>> rows_by_label(std::span<const std::int32_t> labels,
                                                                        std::uint64_t seed) {
  std::map<std::int32_t, std::vector<std::int32_t>> rows;
  for (const std::int32_t row : shuffled_rows(std::ssize(labels), seed))
    rows[labels[static_cast<std::size_t>(row)]].push_back(row);
  return rows;
}
}  // namespace detail

GRADUAL_ONCE Folds::Folds(std::int64_t count, std::size_t rows) {
  if (count < 2) throw OptionError("folds: " + std::to_string(count) + "; at least 2 are needed, as one is held back");
  if (rows > std::numeric_limits<std::int32_t>::max() || static_cast<std::uint64_t>(count) > rows)
    throw DataError("folds: " + std::to_string(count) + " cannot be made of " + std::to_string(rows) + " rows");
  rows_.resize(static_cast<std::size_t>(count));
}

GRADUAL_ONCE Folds Folds::stratified(std::span<const std::int32_t> labels, std::int64_t count, std::uint64_t seed) {
  Folds folds(count, labels.size());
  std::size_t next = 0;
  for (const auto& [label, rows] : detail::rows_by_label(labels, seed)) {
    if (std::ssize(rows) < count)
      throw DataError("folds: label " + std::to_string(label) + " has fewer rows, " + std::to_string(rows.size()) +
                      ", than there are folds, " + std::to_string(count));
    for (const std::int32_t row : rows) folds.rows_[next++ % folds.rows_.size()].push_back(row);
  }
  for (auto& rows : folds.rows_) std::ranges::sort(rows);
  return folds;
}

GRADUAL_ONCE Folds Folds::grouped(std::span<const std::int32_t> groups, std::int64_t count, std::uint64_t seed) {
  Folds folds(count, groups.size());
  std::vector<std::vector<std::int32_t>> all;
  for (auto& [group, rows] : detail::rows_by_label(groups, seed)) all.push_back(std::move(rows));
  if (std::ssize(all) < count)
    throw DataError("folds: " + std::to_string(count) + " cannot be made of " + std::to_string(all.size()) + " groups");
  std::vector<std::int32_t> order = detail::shuffled_rows(std::ssize(all), seed);
  const auto rows_of = [&](std::int32_t group) -> auto& { return all[static_cast<std::size_t>(group)]; };
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return rows_of(a).size() > rows_of(b).size(); });
  for (const std::int32_t group : order) {
    auto& fewest = *std::ranges::min_element(folds.rows_, {}, [](const auto& fold) { return fold.size(); });
    fewest.insert(fewest.end(), rows_of(group).begin(), rows_of(group).end());
  }
  for (auto& rows : folds.rows_) std::ranges::sort(rows);
  return folds;
}

GRADUAL_ONCE Folds Folds::rolling(std::span<const std::int32_t> times, std::int64_t count, std::int64_t length,
                                  std::int64_t gap) {
  if (count < 1 || length < 1 || gap < 0)
    throw OptionError("folds: " + std::to_string(count) + " of " + std::to_string(length) + " times each, with a gap of " +
                      std::to_string(gap));
  if (times.empty() || times.size() > std::numeric_limits<std::int32_t>::max())
    throw DataError("folds: " + std::to_string(count) + " cannot be made of " + std::to_string(times.size()) + " rows");
  const auto [first, last] = std::ranges::minmax(times);
  Folds folds;
  for (std::int64_t f = 0; f < count; ++f) {
    // From the first time on if fewer times are left than the product, which could overflow.
    const std::int64_t left = count - f, span = std::int64_t{last} - first + 1;
    const std::int64_t begin = left > span / length ? first : last - left * length + 1;
    std::vector<std::int32_t> held_back, past;
    for (std::size_t row = 0; row < times.size(); ++row) {
      const std::int64_t ahead = times[row] - begin;
      if (ahead < -gap) past.push_back(static_cast<std::int32_t>(row));
      else if (ahead >= 0 && ahead < length) held_back.push_back(static_cast<std::int32_t>(row));
    }
    if (past.empty() || held_back.empty())
      throw DataError("folds: nothing to " + std::string(past.empty() ? "learn" : "hold back") + " in fold " + std::to_string(f) +
                      " of " + std::to_string(count) + ": " + std::to_string(length) + " times each and a gap of " +
                      std::to_string(gap) + ", in times from " + std::to_string(first) + " to " + std::to_string(last));
    folds.rows_.push_back(std::move(held_back));
    folds.past_.push_back(std::move(past));
  }
  return folds;
}

GRADUAL_ONCE const std::vector<std::int32_t>& Folds::held_back(std::int64_t fold) const {
  if (fold < 0 || fold >= count()) throw OptionError("fold " + std::to_string(fold) + " of " + std::to_string(count()));
  return rows_[static_cast<std::size_t>(fold)];
}

GRADUAL_ONCE std::vector<std::int32_t> Folds::learned(std::int64_t fold) const {
  if (const auto& own = held_back(fold); !past_.empty()) return past_[static_cast<std::size_t>(&own - rows_.data())];
  std::vector<std::int32_t> others;
  for (const auto& rows : rows_)
    if (&rows != &held_back(fold)) others.insert(others.end(), rows.begin(), rows.end());
  std::ranges::sort(others);
  return others;
}

}  // namespace gradual
