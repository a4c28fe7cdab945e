#pragma once
#include <cstring>
#include <functional>
#include <numeric>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <gradual/train/compiled_learner.hpp>
#include <gradual/train/copy_rows.hpp>
#include <gradual/train/dataset.hpp>
#include <gradual/train/eager_session.hpp>

namespace gradual {

/// An eager model for a `Trainer`: its parameters, and a function that records its loss for samples of a data set.
///   EagerNet net(parameters, [&](EagerTape& tape, std::span<const float> x, std::span<const std::int32_t> y) {
///     const Var in = tape.input(x, {columns}), label = tape.input(y);
///     return model.loss(in, label);
///   });
///   Trainer trainer(net, optimizer, {.global_batch = 512});
/// The function is called as in `Session::accumulate`. The parameters, and all it refers to, must outlive trainers.
template <class Real, class Record>
class EagerNet {
  static_assert(std::is_void_v<Record>,
                "an EagerNet's function takes an EagerTape& and, for each input, a span of a type that it names: "
                "[&](EagerTape& tape, std::span<const float> x, std::span<const std::int32_t> y)");

 public:
  EagerNet(ParametersIn<Real>&, Record);
};
template <class Real, class Recorded, class... E>
class EagerNet<Real, std::function<Recorded(EagerTape&, std::span<const E>...)>> {
 public:
  using Record = std::function<Recorded(EagerTape&, std::span<const E>...)>;

  /// Errors: OptionError for an empty function.
  EagerNet(ParametersIn<Real>& parameters, Record record) : parameters_(&parameters), record_(std::move(record)) {
    if (empty()) throw OptionError("EagerNet: an empty function");
  }

  ParametersIn<Real>& parameters() const { return *parameters_; }
  /// Whether it was moved from.
  bool empty() const { return record_ == nullptr; }
  /// Calls the model's function, which records the loss of samples on a tape.
  Recorded record(EagerTape& tape, std::span<const E>... samples) const { return record_(tape, samples...); }

 private:
  ParametersIn<Real>* parameters_;
  Record record_;
};
template <class Real, class Record>
EagerNet(ParametersIn<Real>&, Record) -> EagerNet<Real, decltype(std::function(std::declval<Record>()))>;

namespace detail {

/// Copies samples together in host memory, since the model is given only the samples of its part.
template <class R, class Recorded, class... E, class Optimizer>
class LearnerOf<EagerNet<R, std::function<Recorded(EagerTape&, std::span<const E>...)>>, Optimizer> {
  using Net = EagerNet<R, std::function<Recorded(EagerTape&, std::span<const E>...)>>;

 public:
  using Session = gradual::Session<ParametersIn<R>, Optimizer, Inputs<>>;
  using Data = Dataset<E...>;
  using Real = R;
  static constexpr bool is_planned = false, keeps_average = average_state<RuleOf<Optimizer>> >= 0;
  static constexpr MetricSet metrics = {};
  static constexpr const MetricSet* known_metrics = nullptr;  // unknown until a loss is recorded
  static constexpr const char* finds_non_finite = "";

  LearnerOf(Net net, const Optimizer& optimizer, const SessionOptions& options)
      : net_(std::move(net)), session_(net_.parameters(), optimizer, options) {}

  Session& session() { return session_; }
  const Session& session() const { return session_; }

  /// Errors: TapeError for parameters that were declared after others had been given values.
  std::span<const ParameterInfo> declared() const {
    net_.parameters().require_values();
    return net_.parameters().declared();
  }
  std::int64_t elements() const { return net_.parameters().offsets().back(); }
  std::vector<Real> values() const {
    std::vector<Real> values(static_cast<std::size_t>(elements()));
    net_.parameters().copy_to(values);
    return values;
  }
  std::vector<Real> averaged_values() const {
    const std::span<const Real> values = session_.averaged_parameters();
    return {values.begin(), values.end()};
  }

  /// Derives the ranges of labels, and which input is the weight, from the loss of one sample. Errors: DataError; TapeError for
  /// parameters declared after others had been given values; OptionError where this was moved from.
  void validate(const Data& data) {
    if (net_.empty()) refuse_moved();
    EagerTape tape(net_.parameters());
    tape.begin(0, 1, 1, true);  // this sample's own labels are checked below
    const Loss loss = record(tape, data);
    if (data.is_made()) return;  // its parts are checked when they are made
    const bool has_weight = loss.weight.tape == &tape && is_input(loss.weight.node(), Input::sample);
    const void* const weights =
        has_weight ? tape.values().input(static_cast<int>(loss.weight.attributes().integer[0])) : nullptr;
    int index = 0;
    const auto look_at = [&]<class T>(std::span<const T> values) {
      std::vector<LabelRange> ranges;
      for (const LabelRange& range : tape.label_ranges)
        if (tape.values().input(range.input) == values.data()) ranges.push_back(range), ranges.back().input = index;
      const std::int64_t width = std::ssize(values) / data.size();
      validate_values(values, ranges, width, index);
      if constexpr (std::is_floating_point_v<T>)
        if (values.data() == weights && session_.options().reduction == Reduction::mean) validate_weights(values, index, width);
      ++index;
    };
    data.apply([&](auto... spans) { (look_at(spans), ...); });
  }
  /// As `Session::accumulate_rows`.
  void learn(const Data& data, std::span<const std::int32_t> rows, std::uint64_t epoch, bool last, std::int64_t& taken) {
    if (!session_.waits_for_step()) gather(data, rows, std::index_sequence_for<E...>());
    session_.accumulate_rows(rows, epoch, last, taken,
                             [&](EagerTape& tape) { return record(tape, gathered(std::ssize(rows))); });
  }
  Averages evaluate(const Data& data) {
    return session_.evaluate(data.size(), [&](EagerTape& tape) { return record(tape, data); });
  }
  std::vector<Real> losses(const Data& data) {
    return session_.losses(data.size(), [&](EagerTape& tape) { return record(tape, data); });
  }
  /// Returns the predictions for these samples that `record(tape, spans...)` records.
  template <class Record>
  std::vector<Real> predict(const Data& data, const Record& record) {
    return session_.predict(data.size(), [&](EagerTape& tape) {
      return samples_of(tape, data).apply([&](auto... spans) -> Var { return record(tape, spans...); });
    });
  }

 private:
  /// Records the loss of the tape's samples, which are a part of `data`.
  Recorded record(EagerTape& tape, const Data& data) {
    return samples_of(tape, data).apply([&](auto... spans) { return net_.record(tape, spans...); });
  }
  Data samples_of(EagerTape& tape, const Data& data) {
    const Data part = data.subset(tape.take_alone(), tape.batch());
    if (!part.is_made()) return part;
    std::vector<std::int32_t> rows(static_cast<std::size_t>(part.size()));
    std::iota(rows.begin(), rows.end(), 0);
    gather(part, rows, std::index_sequence_for<E...>());
    return gathered(part.size());
  }
  Data gathered(std::int64_t samples) const {
    return std::apply([&](const auto&... values) { return Data::of(samples, std::span<const E>(values)...); }, gathered_);
  }
  template <std::size_t... I>
  void gather(const Data& data, std::span<const std::int32_t> rows, std::index_sequence<I...>) {
    if (data.is_made()) {
      const auto widths = data.widths();
      (std::get<I>(gathered_).resize(rows.size() * static_cast<std::size_t>(widths[I])), ...);
      (std::memset(std::get<I>(gathered_).data(), 0xff, std::get<I>(gathered_).size() * sizeof(E)), ...);  // the default
      return data.make(rows, std::span(std::get<I>(gathered_))...);
    }
    data.apply([&](auto... spans) { (gather(std::get<I>(gathered_), spans, data.size(), rows), ...); });
  }
  template <class T>
  static void gather(std::vector<T>& to, std::span<const T> from, std::int64_t samples, std::span<const std::int32_t> rows) {
    const std::int64_t width = std::ssize(from) / samples;
    to.resize(rows.size() * static_cast<std::size_t>(width));
    copy_rows(to.data(), from.data(), rows, width * std::int64_t{sizeof(T)});
  }

  Net net_;
  Session session_;
  std::tuple<std::vector<E>...> gathered_;
};

}  // namespace detail
}  // namespace gradual
