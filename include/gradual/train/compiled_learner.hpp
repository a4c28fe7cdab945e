#pragma once
#include <span>
#include <vector>

#include <gradual/train/dataset.hpp>
#include <gradual/train/dataset_checks.hpp>
#include <gradual/train/made_samples.hpp>
#include <gradual/train/session.hpp>

namespace gradual::detail {

/// A net as its trainer sees it; here a compiled one.
template <class Net, class Optimizer>
class LearnerOf {
 public:
  using Session = gradual::Session<Net, Optimizer>;
  using Data = gradual::DatasetOf<typename Net::InputTypes>;
  using Real = typename Net::Real;
  static constexpr bool is_planned = true, keeps_average = average_state<RuleOf<Optimizer>> >= 0;
  static constexpr MetricSet metrics = MetricSet::of<typename Net::Training>();
  static constexpr const MetricSet* known_metrics = &metrics;
  static constexpr const char* finds_non_finite = "; first_non_finite<Net>(parameters, inputs...) names the op";

  LearnerOf(Net net, const Optimizer& optimizer, SessionOptions options)
      : session_(net, optimizer, gathering(std::move(options))) {}

  Session& session() { return session_; }
  const Session& session() const { return session_; }

  static std::span<const ParameterInfo> declared() { return Net::declared(); }
  static constexpr std::int64_t elements() { return Net::parameter_elements; }
  std::vector<Real> values() const { return copied(session_.parameters()); }
  std::vector<Real> averaged_values() const { return copied(session_.averaged_parameters()); }

  /// Errors: DataError, also for a weight below 0 in a mean. Samples that are made are checked as they are made.
  void validate(const Data& data) const {
    if (data.is_made()) return check_widths(data, static_cast<typename Net::InputTypes*>(nullptr));
    const std::int64_t samples = data.apply([&](auto... spans) {
      return validate_for<typename Net::Backend, typename Net::Training>(session_.arena().queue(), typename Net::InputTypes{},
                                                                         spans...);
    });
    check_held(data.size(), samples);
    if constexpr (constexpr int weight = weight_input<typename Net::Training>(); weight >= 0) {
      const auto weights = data.apply([](auto... spans) { return std::get<weight>(std::tuple(spans...)); });
      if (of_mean() && session_.host_reads(weights.data()))
        validate_weights(weights, weight, std::ssize(weights) / samples);
    }
  }
  /// As `Session::accumulate_rows`, of data that were validated. Errors: DataError for indices that have changed since.
  void learn(const Data& data, std::span<const std::int32_t> rows, std::uint64_t epoch, bool last, std::int64_t& taken) {
    if (data.is_made()) {
      Made made(data, of_mean());
      return session_.add_made_rows(rows, epoch, last, taken, made);
    }
    data.apply([&](auto... spans) { session_.add_valid_rows(rows, epoch, last, taken, spans...); });
  }
  Averages evaluate(const Data& data) {
    if (data.is_made()) {
      Made made(data, of_mean());
      return session_.evaluate_made(data.size(), made);
    }
    return data.apply([&](auto... spans) { return session_.evaluate(spans...); });
  }
  std::vector<Real> losses(const Data& data) {
    if (data.is_made()) {
      Made made(data, of_mean());
      return session_.losses_made(data.size(), made);
    }
    return data.apply([&](auto... spans) { return session_.losses(spans...); });
  }
  template <class... Span>
  std::vector<Real> predict(const Span&... inputs) {
    return session_.predict(inputs...);
  }

 private:
  template <class In>
  struct MadeFor;
  template <class... T>
  struct MadeFor<Inputs<T...>> {
    using type = MadeSamples<typename Net::Training, T...>;
  };
  using Made = typename MadeFor<typename Net::InputTypes>::type;

  template <class... T>
  static void check_widths(const Data& data, const Inputs<T...>*) {
    const std::int64_t needed[] = {sample_shape<T>().unit()...};
    for (std::size_t i = 0; i < sizeof...(T); ++i) check_made_width(i, data.widths()[i], needed[i]);
  }
  bool of_mean() const { return session_.options().reduction == Reduction::mean; }

  template <class View>
  static std::vector<Real> copied(const View& parameters) {
    return {parameters.values().begin(), parameters.values().end()};
  }
  static SessionOptions gathering(SessionOptions options) {
    options.gather = true;
    return options;
  }

  Session session_;
};

}  // namespace gradual::detail
