#pragma once
#include <gradual/autodiff/functions.hpp>

namespace gradual {

inline constexpr int max_metrics = 8;
inline constexpr int max_loss_arrays = 2 * max_metrics + 2;  ///< losses, their weights, metrics, and the metrics' weights

/// A named value per sample, averaged over the data like the loss, or with weights of its own.
struct Metric {
  Name name;
  Var value;
  Var weight;
};
constexpr Metric metric(std::string_view name, Var per_sample) {
  Metric m;
  m.name << name;
  m.value = per_sample;
  return m;
}
/// The same averaged with weights of its own, whatever the loss's weights: Σwv/Σw, as in `recall`. NaN if all weights are 0.
constexpr Metric metric(std::string_view name, Var per_sample, Var weight) {
  Metric m = metric(name, per_sample);
  m.weight = weight;
  return m;
}
/// The same with one weight for every sample: `metric("accuracy", guess == label, 1)`.
constexpr Metric metric(std::string_view name, Var per_sample, double weight) {
  return metric(name, per_sample, per_sample.valid() ? constant_like(per_sample, weight) : Var{});
}

/// What a model returns: one value per sample (or per token), optionally its weight, and metrics. The framework takes the mean
/// over samples, once per window.
struct Loss {
  Var value;
  Var weight;
  Var term;
  Metric metrics[max_metrics];
  int metric_count = 0;

  template <class... M>
  constexpr Loss(Var per_sample, M... m) : value(per_sample), metrics{m...}, metric_count(sizeof...(M)) {
    static_assert(sizeof...(M) <= max_metrics, "at most eight metrics");
    check_names();
  }

  /// The same loss with further metrics.
  template <class... M>
    requires(sizeof...(M) > 0)
  constexpr Loss(const Loss& loss, M... m) : Loss(loss) {
    for (const Metric& added : {m...}) {
      if (metric_count < max_metrics) metrics[metric_count++] = added;
      else if (value.tape != nullptr) value.tape->fail("a loss with more than eight metrics");
    }
    check_names();
  }

  /// Returns the loss weighted by `w`, multiplied by any weights that it already has.
  constexpr Loss weighted_by(Var w) const {
    Loss result = *this;
    result.weight = weight.valid() ? weight * w : w;
    return result;
  }
  /// Adds a term that depends on parameters alone, such as a penalty: one number, added once per window to the mean over its
  /// samples. Reported losses are those of the samples, without it.
  constexpr Loss plus(Var t) const {
    Loss result = *this;
    result.term = result.term.valid() ? result.term + t : t;
    return result;
  }

 private:
  constexpr void check_names() const {
    for (int i = 0; i < metric_count && value.tape != nullptr; ++i) {
      const Name& name = metrics[i].name;
      if (name.full()) value.tape->fail(Message() << "metric '" << name.view() << "': a name of more than 78 characters");
      for (int k = 0; k < i; ++k)
        if (metrics[k].name == name) value.tape->fail(Message() << "two metrics are named '" << name.view() << "'");
    }
  }
};

/// Converts a value to the type in which the host gets it: float where it has 16 bits, double where parameters are double.
constexpr Var as_given(Var v) {
  v = widened(v);
  return v.valid() && v.dtype() == DType::f32 ? convert(v, v.tape->real) : v;
}
constexpr Loss as_given(Loss loss) {
  for (Var* v : {&loss.value, &loss.weight, &loss.term}) *v = as_given(*v);
  for (Metric& metric : loss.metrics) metric.value = as_given(metric.value), metric.weight = as_given(metric.weight);
  return loss;
}

}  // namespace gradual
