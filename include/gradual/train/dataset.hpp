#pragma once
#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>  // concepts of ranges too: <ranges> adds views, which take long to parse
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <gradual/autodiff/trace.hpp>
#include <gradual/core/error.hpp>
#include <gradual/data/count_in.hpp>
#include <gradual/train/dataset_checks.hpp>

namespace gradual {

namespace detail {
/// Whether one of several ranges owns its elements and is destroyed at the end of the statement.
template <class... Range>
concept any_temporary = ((std::ranges::range<Range> && !std::ranges::borrowed_range<Range>) || ...);
}  // namespace detail

/// Samples that lie one after another in the caller's spans, which are never copied. The last span has one element per sample
/// and so sets their number; the others must hold a whole number of elements per sample. Or samples that are `made` on demand.
template <class... E>
class Dataset {
 public:
  /// Errors: DataError for an empty data set, or a number of values that is no multiple of the number of samples.
  explicit Dataset(std::span<const E>... data) : Dataset(std::tuple{data...}) {}
  template <class... Range>
    requires(sizeof...(Range) == sizeof...(E) && (std::is_convertible_v<const Range&, std::span<const E>> && ...))
  explicit Dataset(const Range&... data) : Dataset(std::span<const E>(data)...) {}
  template <class... Range>
    requires(sizeof...(Range) == sizeof...(E) && detail::any_temporary<Range...>)
  explicit Dataset(Range&&...) : size_(0) {
    static_assert(!detail::any_temporary<Range...>, "a Dataset copies nothing: keep its values in variables");
  }

  /// As the constructor, for a last span with more than one element for each of `samples` samples.
  static Dataset of(std::int64_t samples, std::span<const E>... data) {
    detail::check_samples(samples);
    return Dataset(std::tuple{data...}, samples);
  }
  template <class... Range>
    requires detail::any_temporary<Range...>
  static Dataset of(std::int64_t, Range&&...) {
    static_assert(!detail::any_temporary<Range...>, "a Dataset copies nothing: keep its values in variables");
  }

  /// Fills in the samples of these numbers, one after another, in a span for each input.
  using Make = std::function<void(std::span<const std::int32_t>, std::span<E>...)>;
  /// The number of values per sample of each input.
  using Widths = std::array<std::int64_t, sizeof...(E)>;

  /// Returns a data set whose samples are not stored, such as overlapping windows of a series: a trainer has them made, one
  /// micro-batch at a time, by `make(numbers, spans...)`, which must give the same for a number throughout an epoch. Values
  /// that it leaves out are NaN, or -1 (255 in bytes). `make` may throw, and all it refers to must outlive the data set.
  /// Errors: DataError for no samples, or 2³¹ or more; OptionError for a width that is not positive, or no function.
  static Dataset made(std::int64_t samples, const Widths& widths, Make make) {
    detail::check_made(samples, widths, make == nullptr);
    Dataset data;
    data.size_ = samples, data.widths_ = widths, data.make_ = std::move(make);
    return data;
  }
  bool is_made() const { return make_ != nullptr; }

  std::int64_t size() const { return size_; }
  Widths widths() const {
    Widths widths = widths_;
    if (!is_made())
      std::apply([&, i = std::size_t{0}](auto... span) mutable { ((widths[i++] = std::ssize(span) / size_), ...); }, data_);
    return widths;
  }

  /// Fills in samples `rows` of a data set that is made. Errors: OptionError where it is not; DataError for sample numbers out
  /// of range, or spans that are not of these samples' size.
  void make(std::span<const std::int32_t> rows, std::span<E>... to) const {
    if (!is_made()) throw OptionError("make: the samples of this data set lie in spans: it makes none");
    detail::check_rows(rows, size_);
    std::size_t input = 0;
    ((detail::check_room(input, widths_[input], std::ssize(rows), std::ssize(to)), ++input), ...);
    if (first_ == 0) return make_(rows, to...);
    std::vector<std::int32_t> numbers(rows.begin(), rows.end());
    for (std::int32_t& number : numbers) number += first_;
    make_(numbers, to...);
  }

  /// Calls f(span...) with all samples. Errors: OptionError where they are made.
  template <class F>
  auto apply(F f) const {
    if (is_made()) throw OptionError("a data set whose samples are made has no spans: give it to a trainer");
    return std::apply(f, data_);
  }

  /// Returns samples [begin, begin + count), in order. Errors: OptionError for none, or for samples that do not exist.
  Dataset subset(std::int64_t begin, std::int64_t count) const {
    detail::check_subset(begin, count, size_);
    Dataset part = *this;
    if (is_made()) part.first_ += static_cast<std::int32_t>(begin);
    else std::apply([&](auto&... span) { ((span = cut(span, begin, count)), ...); }, part.data_);
    part.size_ = count;
    return part;
  }

  /// Returns the first `share` of the samples, as `detail::count_in` counts them, and the rest.
  /// Errors: DataError where one part would be empty.
  template <std::floating_point Share>
  std::pair<Dataset, Dataset> split(Share share) const {
    const std::int64_t first = detail::count_in(share, size_);
    return {subset(0, first), subset(first, size_ - first)};
  }

  /// A range of tuples of spans of `batch` samples each, the last one shorter: for (auto [x, y] : data.batches(64)).
  class Batches {
   public:
    struct Iterator {  // forward
      using value_type = std::tuple<std::span<const E>...>;
      using difference_type = std::ptrdiff_t;
      const Dataset* data = nullptr;
      std::int64_t batch = 0, at = 0;
      value_type operator*() const { return data->subset(at, std::min(batch, data->size_ - at)).data_; }
      Iterator& operator++() {
        at += std::min(batch, data->size_ - at);
        return *this;
      }
      Iterator operator++(int) {
        const Iterator before = *this;
        ++*this;
        return before;
      }
      bool operator==(const Iterator&) const = default;
    };
    Batches(const Dataset& data, std::int64_t batch) : data_(data), batch_(batch) {}
    Iterator begin() const { return {&data_, batch_, 0}; }
    Iterator end() const { return {&data_, batch_, data_.size_}; }

   private:
    Dataset data_;
    std::int64_t batch_;
  };
  /// Errors: OptionError for a batch that is not positive, or samples that are made.
  Batches batches(std::int64_t batch) const {
    detail::check_batch(batch);
    if (is_made()) throw OptionError("a data set whose samples are made has no batches: give it to a trainer");
    return {*this, batch};
  }

 private:
  Dataset() = default;
  explicit Dataset(std::tuple<std::span<const E>...> data)
      : Dataset(data, static_cast<std::int64_t>(std::get<sizeof...(E) - 1>(data).size())) {}
  Dataset(std::tuple<std::span<const E>...> data, std::int64_t count) : data_(data), size_(count) {
    if (size_ == 0) throw DataError("an empty data set");
    std::apply([&](auto... span) { (detail::check_shared(std::ssize(span), size_), ...); }, data_);
  }
  template <class T>
  std::span<const T> cut(std::span<const T> all, std::int64_t begin, std::int64_t count) const {
    const std::size_t width = all.size() / static_cast<std::size_t>(size_);
    return all.subspan(static_cast<std::size_t>(begin) * width, static_cast<std::size_t>(count) * width);
  }

  std::tuple<std::span<const E>...> data_ = {};
  std::int64_t size_ = 0;
  Make make_ = nullptr;
  Widths widths_ = {};       // of samples that are made
  std::int32_t first_ = 0;  // sample 0 has number `first_` for `make_`
};
template <class... Range>
Dataset(Range&&...) -> Dataset<std::ranges::range_value_t<Range>...>;
template <class... Range>  // nvcc takes its constructor without checking the requires-clause
Dataset(const Range&...) -> Dataset<std::ranges::range_value_t<const Range>...>;

namespace detail {
template <class In>
struct DatasetOf;
template <class... T>
struct DatasetOf<Inputs<T...>> {
  using type = Dataset<std::remove_all_extents_t<T>...>;
};
}  // namespace detail
/// The data set type that nets with these inputs learn from.
template <class In>
using DatasetOf = typename detail::DatasetOf<In>::type;

}  // namespace gradual
