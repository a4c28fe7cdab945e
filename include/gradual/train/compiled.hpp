#pragma once
#include <gradual/autodiff/cpu/backend.hpp>
#include <gradual/autodiff/program.hpp>
#include <gradual/optim/trace_update.hpp>
#include <gradual/train/inference_layout.hpp>
#include <gradual/train/memory_error.hpp>
#include <gradual/train/micro_batch.hpp>
#include <gradual/train/session_layout.hpp>

namespace gradual {

template <class... Nets>
struct OneOf;

namespace detail {
template <class Model, class In, int Kept, ShadowType S, bool Scaled = false>
struct TrainingTrace {
  using Ops = OpsFor<Model>;
  using Shadow = S;
  static constexpr int kept = Kept;
  static constexpr Tape tape() {
    if constexpr (std::is_same_v<SumOf<S>, typename RealOf<In>::type>) return trace_training<Model>(In{}, Scaled);
    else return widen_sums(trace_training<Model>(In{}, Scaled));
  }
};
template <class Model, class In, bool Draws = false>
struct InferenceTrace;
template <class Model, class... T, bool Draws>
struct InferenceTrace<Model, Inputs<T...>, Draws> {
  using Ops = OpsFor<Model>;
  using InputTypes = typename PredictInputs<Model, Inputs<>, T...>::type;
  static constexpr Tape tape() {
    return trace_inference<Model>(InputTypes{}, dtype_of<typename RealOf<Inputs<T...>>::type>, Draws);
  }
};
template <class Model>
constexpr std::vector<ParameterInfo> declared_by() {
  std::vector<ParameterInfo> declared;
  Message error;  // which the program tells
  [[maybe_unused]] const Model model{Scope(declared, &error)};
  return declared;
}
template <class Model>
constexpr int count_declared() {
  return static_cast<int>(declared_by<Model>().size());
}
template <class Model>
concept Declares = requires { typename std::integral_constant<int, count_declared<Model>()>; };
/// What a model declares; nothing where the compiler cannot tell, which the program says.
template <class Model>
struct ParametersOf {
  static constexpr std::vector<ParameterInfo> list() {
    if constexpr (Declares<Model>) return declared_by<Model>();
    else return {};
  }
  static constexpr int count = static_cast<int>(list().size());
  struct Table {
    ParameterInfo of[count > 0 ? count : 1];
  };
  static constexpr Table table = [] {
    Table made{};
    std::ranges::copy(list(), made.of);
    return made;
  }();
};
/// `Sum`: of a gradient, `Real`: of a parameter: float or double.
template <class Rule, class Declared, class Sum, class Real>
struct UpdateTrace {
  using Ops = OpsFor<Rule>;
  static constexpr Tape tape() { return trace_update(Rule{}, Declared::list(), dtype_of<Sum>, dtype_of<Real>); }
  static constexpr int scalars = static_cast<int>(tape().scalars.size());
};
}  // namespace detail

/// A model compiled for samples of the given types: `Compiled<Mlp, Inputs<f32[64], i32>>`; where one is double, so are
/// parameters, sums, optimizer state and what a loss, a metric and a prediction are given in. `Kept`: percent of
/// the activations that backward may find at once; what is not kept is computed again: less memory, one more forward
/// pass at most, the same bits (`recompute`). `WithinBudget` chooses it.
template <class Model, class In, class Where = Cpu, int Kept = 100>
struct Compiled {
  using Backend = Where;
  using Real = typename detail::RealOf<In>::type;  ///< of a parameter
  static_assert(Kept > 0 && Kept <= 100, "a net keeps 1 to 100 percent of its activations");
  /// The training step with a window's sums held in S, a `ShadowType` (which clang 14 cannot parse here), of a loss that is
  /// scaled (`LossScale`) or not.
  template <class S, bool Scaled = false>
  using TrainingIn = Program<detail::TrainingTrace<Model, In, Kept, S, Scaled>>;
  using Training = TrainingIn<Real>;
  using Prediction = Program<detail::InferenceTrace<Model, In>>;
  using InputTypes = In;
  static constexpr int kept = Kept;
  static constexpr bool draws = false;  ///< whether predictions do (`Drawing`)
  /// The same net that keeps another share of its activations.
  template <int Percent>
  using Keeping = Compiled<Model, In, Backend, Percent>;
  /// The same net at several shares, of which a trainer takes one for its budget: `Net::KeepingOneOf<100, 60, 35>`.
  template <int... Percent>
  using KeepingOneOf = OneOf<Keeping<Percent>...>;

  static constexpr int parameter_count = detail::ParametersOf<Model>::count;
  static constexpr const ParameterInfo& parameter(int index) { return detail::ParametersOf<Model>::table.of[index]; }
  static constexpr std::span<const ParameterInfo> declared() {
    return {detail::ParametersOf<Model>::table.of, parameter_count};
  }

  static constexpr MetricNames metric_names = metric_names_of<Model>(In{});
  /// Which of the averages a metric is: `session.last_window().metric(Net::metric("accuracy"))`. A name that no metric has
  /// does not compile; a session's `metric` takes one that only the program knows.
  static consteval int metric(std::string_view name) {
    const int index = metric_names.find(name);
    return index < 0 ? detail::no_metric_has_this_name<metric_names.there_are()>(name) : index;
  }

  /// Index of a parameter's first element among all parameters, which lie one after another; for the index past the
  /// last one, the number of all elements.
  static constexpr std::int64_t parameter_offset(int index) {
    std::int64_t offset = 0;
    for (int p = 0; p < index; ++p) offset += parameter(p).shape.unit();
    return offset;
  }
  static constexpr std::int64_t parameter_elements = parameter_offset(parameter_count);
  // So that both are known: with -Wall, g++ 14 asks for them inside templates, where it makes no function to tell them.
  static_assert(parameter_elements >= 0);

  template <class Rule, class S = Real>
  using UpdateTraceOf = detail::UpdateTrace<Rule, detail::ParametersOf<Model>, SumOf<S>, Real>;
  /// Whether an update by this rule is one by element, the same for all nets. A GPU's is for so many parameters.
  template <class Rule, class S = Real>
  static constexpr bool updates_by_element = [] {
    if constexpr (Backend::shares_host_memory && std::is_same_v<SumOf<S>, Real>) return UpdatesByElement<Rule, Real>;
    else return false;
  }();
  template <class Rule, class S = Real>
  using UpdateOf =
      Program<std::conditional_t<updates_by_element<Rule, S>, detail::ElementTrace<Rule, Real>, UpdateTraceOf<Rule, S>>>;

  /// Bytes that a session with this optimizer allocates for micro-batches of `micro_batch`, by category. Errors: OptionError for
  /// what no session could have.
  template <class Optimizer>
  static constexpr MemoryTable training_memory(const Optimizer&, std::int64_t micro_batch, const Planning& planning = {}) {
    return window_memory<Optimizer>(micro_batch, 0, planning);
  }

  /// Bytes that an `Inference` for `batch` samples allocates, by category. Errors: as `training_memory`.
  static constexpr MemoryTable inference_memory(std::int64_t batch, int threads = 1) {
    return inference_layout<Compiled>.table(batch, threads);
  }

  /// The largest batch that a session with this optimizer can train at once, as a whole window, in a budget.
  /// Errors: MemoryError where one sample does not fit, with the numbers.
  template <class Optimizer>
  static constexpr LargestBatch largest_batch(const Optimizer&, Budget budget, const Planning& planning = {}) {
    constexpr std::int64_t countable = tables_for<Optimizer>().countable;
    const auto need = [&](std::int64_t batch) { return window_memory<Optimizer>(batch, batch, planning).total(); };
    const std::int64_t batch = largest_fitting(countable, budget.bytes, need);
    if (batch == 0) detail::refuse_budget(layout<Optimizer>(1, 1, planning), planning.gather, planning.frozen, budget, nullptr);
    return {batch, need(batch), batch < countable ? need(batch + 1) : Budget::unlimited};
  }

  /// The micro-batch for windows of `global_batch` samples in a budget. Errors: as `largest_batch`, and OptionError for
  /// a global batch that is not positive.
  template <class Optimizer>
  static constexpr std::int64_t micro_batch(const Optimizer& optimizer, std::int64_t global_batch, Budget budget,
                                            Prefer prefer = Prefer::largest, const Planning& planning = {}) {
    const std::int64_t batch = fitting_micro_batch(optimizer, global_batch, budget, prefer, planning);
    if (batch == 0)
      detail::refuse_budget(layout<Optimizer>(1, global_batch, planning), planning.gather, planning.frozen, budget, nullptr);
    return batch;
  }
  /// The same, but 0 where no micro-batch fits. Errors: OptionError.
  template <class Optimizer>
  static constexpr std::int64_t fitting_micro_batch(const Optimizer&, std::int64_t global_batch, Budget budget,
                                                    Prefer prefer = Prefer::largest, const Planning& planning = {}) {
    if (global_batch <= 0) throw OptionError("a global batch of " + std::to_string(global_batch));
    return pick_micro_batch(global_batch, tables_for<Optimizer>().block_samples, budget.bytes, prefer, [&](std::int64_t b) {
      return b > tables_for<Optimizer>().countable ? Budget::unlimited
                                                   : window_memory<Optimizer>(b, global_batch, planning).total();
    });
  }
  /// Bytes that a session needs for micro-batches of `micro_batch` of windows of `global_batch`. Errors: as `training_memory`.
  template <class Optimizer>
  static constexpr MemoryTable window_memory(std::int64_t micro_batch, std::int64_t global_batch,
                                             const Planning& planning = {}) {
    return layout<Optimizer>(micro_batch, global_batch, planning).table(planning.gather, planning.frozen);
  }

 private:
  template <class Optimizer>
  static constexpr const SessionTables& tables_for() {
    return session_tables<Compiled, RuleOf<Optimizer>, ShadowFor<Compiled, Optimizer>>;
  }
  template <class Optimizer>
  static constexpr SessionLayout layout(std::int64_t micro_batch, std::int64_t window, const Planning& planning) {
    detail::check_planning(planning, parameter_elements);
    return {tables_for<Optimizer>(), micro_batch, window, planning.open_blocks, planning.threads, planning.extras};
  }
};

/// The net whose predictions drop, and have noise, as training does, for an `Inference`: each `Draw` is a net that could have
/// been, and what they predict tells how sure it is (Gal & Ghahramani 2016).
template <class Net>
struct Drawing;
template <class Model, class In, class Where, int Kept>
struct Drawing<Compiled<Model, In, Where, Kept>> : Compiled<Model, In, Where, Kept> {
  using Prediction = Program<detail::InferenceTrace<Model, In, true>>;
  static constexpr bool draws = true;
  /// As `Compiled::inference_memory`.
  static constexpr MemoryTable inference_memory(std::int64_t batch, int threads = 1) {
    return inference_layout<Drawing>.table(batch, threads);
  }
};

}  // namespace gradual
