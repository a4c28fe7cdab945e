#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include <gradual/train/dataset.hpp>
#include <gradual/train/sample_maker.hpp>
#include <gradual/train/validate.hpp>

namespace gradual::detail {

/// The samples of a data set that is made, for a net with training program P and inputs T.
template <class P, class... T>
class MadeSamples final : public SampleMaker {
  using Data = Dataset<std::remove_all_extents_t<T>...>;

 public:
  /// `of_mean`: their weights must not be below 0.
  MadeSamples(const Data& data, bool of_mean) : data_(data), of_mean_(of_mean) {}

  std::span<void*> places() override { return places_; }
  void make(std::span<const std::int32_t> rows) override { make(rows, std::index_sequence_for<T...>()); }

 private:
  template <std::size_t... I>
  void make(std::span<const std::int32_t> rows, std::index_sequence<I...>) {
    data_.make(rows, blank<T>(places_[I], rows.size())...);
    (check<static_cast<int>(I), T>(rows), ...);
  }
  /// Presets values, any of which `make` may leave out, to NaN or -1.
  template <class X>
  static auto blank(void* place, std::size_t samples) {
    using E = std::remove_all_extents_t<X>;
    const std::size_t count = samples * static_cast<std::size_t>(sample_shape<X>().unit());
    std::memset(place, 0xff, count * sizeof(E));
    return std::span(static_cast<E*>(place), count);
  }
  template <int input, class X>
  void check(std::span<const std::int32_t> rows) const {
    using E = std::remove_all_extents_t<X>;
    const std::int64_t width = sample_shape<X>().unit();
    const auto* sample = static_cast<const E*>(places_[input]);
    for (const std::int32_t row : rows) {
      const std::span<const E> values(sample, static_cast<std::size_t>(width));
      validate_values(values, P::graph.label_ranges, width, input, row);
      if constexpr (input == weight_input<P>())
        if (of_mean_) validate_weights(values, input, width, row);
      sample += width;
    }
  }

  const Data& data_;
  bool of_mean_;
  void* places_[sizeof...(T)] = {};
};

}  // namespace gradual::detail
