#pragma once
#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include <gradual/autodiff/loss.hpp>
#include <gradual/core/math/all_finite.hpp>

namespace gradual {

/// The number of metrics beside a loss, and which of them have their own weights.
struct MetricSet {
  int count = 0;
  unsigned own = 0;  ///< bit m stands for metric m

  constexpr MetricSet(int metrics = 0, unsigned with_own_weights = 0) : count(metrics), own(with_own_weights) {}
  /// Returns that of a training program.
  template <class Training>
  static constexpr MetricSet of() {
    MetricSet set(Training::count_of(Role::metric));
    for (int m = 0; m < set.count; ++m) set.own |= unsigned{Training::root(Role::metric_weight, m) >= 0} << m;
    return set;
  }
  constexpr bool has_own(int metric) const { return (own >> metric & 1) != 0; }
  /// Returns the number of arrays of a sample's numbers: the loss, the metrics, and after these the metrics' own weights.
  constexpr int arrays() const { return 1 + count + std::popcount(own); }
  /// Returns the index among them of a metric's own weights.
  constexpr int weight_of(int metric) const { return 1 + count + std::popcount(own & ((1u << metric) - 1)); }
  constexpr bool operator==(const MetricSet&) const = default;
};

/// Weighted means of a loss and its metrics: Σwℓ/Σw, summed in double in the order of the samples, so that the same samples
/// give the same bits however they were batched.
class Averages {
 public:
  explicit Averages(MetricSet metrics = {}) : metrics_(metrics) {}
  /// A weight below 0.
  struct NegativeWeight {
    double weight = 0;
    std::int64_t place = 0;  ///< among all weights
  };
  /// Restores another one from its `sums` of each array.
  Averages(MetricSet metrics, std::span<const double> sums, double weight, std::int64_t count, NegativeWeight negative);

  /// Adds samples. `values`: the arrays of `MetricSet`, each of `count` elements; `weight` may be null: all ones. An element of
  /// weight 0 is ignored, whatever its value. Not inlined: within a session's step, sums would not stay in registers.
  template <std::floating_point E>
  void add(const E* const* values, const std::type_identity_t<E>* weight, std::int64_t count);

  void add(const Averages& other);
  /// Resets everything but the metrics.
  void clear() {
    std::fill_n(sum_, max_loss_arrays, 0.0);
    weight_ = 0;
    count_ = 0;
    negative_ = {};
  }

  double loss() const { return mean(sum_[0], weight_); }
  bool finite() const { return math::is_finite(sum_[0]); }
  /// Errors: OptionError for an unknown metric.
  double metric(int index) const;
  template <class Name>
    requires std::is_convertible_v<Name, std::string_view>
  double metric(const Name&) const {
    static_assert(!std::is_convertible_v<Name, std::string_view>,
                  "averages know metrics by number: averages.metric(Net::metric(\"accuracy\")), or a session's or trainer's");
    return 0;
  }
  double weight() const { return weight_; }
  /// Errors: DataError for a weight below 0, or a sum that `check_weight` refuses. `of` names its owner in errors.
  void check_weights(const char* of) const;
  std::int64_t count() const { return count_; }
  /// Returns the first weight below 0; 0 if there is none.
  const NegativeWeight& negative() const { return negative_; }
  const MetricSet& metrics() const { return metrics_; }
  std::span<const double> sums() const;

 private:
  /// The mean of nothing is NaN, without the sign that processors give 0/0: it prints as nan.
  static double mean(double sum, double weight) { return weight == 0 && sum == 0 ? math::quiet_nan<double>() : sum / weight; }

  MetricSet metrics_;
  double sum_[max_loss_arrays]{};
  double weight_ = 0;
  std::int64_t count_ = 0;
  NegativeWeight negative_;
};

template <std::floating_point E>
[[gnu::noinline]] void Averages::add(const E* const* values, const std::type_identity_t<E>* weight, std::int64_t count) {
  const int own_weights = 1 + metrics_.count;
  for (int k = 0; k < metrics_.arrays(); ++k) {
    const bool has_own = k > 0 && k < own_weights && metrics_.has_own(k - 1);
    const E* const w = k >= own_weights ? nullptr : has_own ? values[metrics_.weight_of(k - 1)] : weight;
    double sum = sum_[k];
    if (w == nullptr) for (std::int64_t i = 0; i < count; ++i) sum += static_cast<double>(values[k][i]);
    else for (std::int64_t i = 0; i < count; ++i)
        if (w[i] != 0) sum += static_cast<double>(w[i]) * static_cast<double>(values[k][i]);
    sum_[k] = sum;
  }
  if (weight == nullptr) weight_ += static_cast<double>(count);
  for (std::int64_t i = 0; weight != nullptr && i < count; ++i) {
    if (weight[i] < 0 && negative_.weight == 0) negative_ = {static_cast<double>(weight[i]), count_ + i};
    weight_ += static_cast<double>(weight[i]);
  }
  count_ += count;
}

namespace detail {
/// Follows a negative weight in error texts.
inline constexpr const char* no_weight_below_0 =
    ": a mean takes none below 0; multiply the loss by such factors, or use Reduction::sum";
}  // namespace detail

/// Checks that the weight of a window is one that `quotient` can divide by, or 0, which makes no step. `of` names its owner in
/// errors. Errors: DataError.
void check_weight(double weight, const char* of = "a window");

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/train/averages.ipp>
#endif
