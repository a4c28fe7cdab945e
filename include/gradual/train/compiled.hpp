#pragma once
#include <gradual/autodiff/cpu/backend.hpp>
#include <gradual/autodiff/program.hpp>
#include <gradual/autodiff/widen_sums.hpp>
#include <gradual/optim/trace_update.hpp>
#include <gradual/train/inference_layout.hpp>
#include <gradual/train/memory_error.hpp>
#include <gradual/train/micro_batch.hpp>
#include <gradual/train/session_layout.hpp>

namespace gradual {

/// One net at several shares of activations kept for the backward pass: `Net::KeepingOneOf<100, 60, 35>`. All give the same
/// bits, at different costs in bytes and time.
template <class... Nets>
struct OneOf {};

namespace detail {
template <class Model, class In, int Kept, ShadowType S, bool Scaled = false>
struct TrainingTrace {
  using Ops = OpsFor<Model>;
  using Shadow = S;
  static constexpr int kept = Kept;
  using KeepingAll = TrainingTrace<Model, In, 100, S, Scaled>;
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
  Message error;  // reported by the program
  [[maybe_unused]] const Model model{Scope(declared, &error)};
  return declared;
}
template <class Model>
constexpr int count_declared() {
  return static_cast<int>(declared_by<Model>().size());
}
template <class Model>
concept Declares = requires { typename std::integral_constant<int, count_declared<Model>()>; };
/// The parameters that a model declares; none where they are no constant expression, which the program reports.
template <class Model>
struct ParametersOf {
  static constexpr std::vector<ParameterInfo> list() {
    if constexpr (Declares<Model>) return declared_by<Model>();
    else return {};
  }
  static constexpr int count = static_cast<int>(list().size());
  struct Table {
    AtLeastOne<ParameterInfo, count> of;
  };
  static constexpr Table table = [] {
    Table made{};
    const std::vector<ParameterInfo> listed = list();
    std::copy(listed.begin(), listed.end(), made.of);
    return made;
  }();
};
/// `Sum` is the type of a gradient and `Real` that of a parameter: float or double.
template <class Rule, class Declared, class Sum, class Real>
struct UpdateTrace {
  using Ops = OpsFor<Rule>;
  static constexpr Tape tape() { return trace_update(Rule{}, Declared::list(), dtype_of<Sum>, dtype_of<Real>); }
  static constexpr int scalars = static_cast<int>(tape().scalars.size());
};
}  // namespace detail

/// A model compiled for samples of the given types: `Compiled<Mlp, Inputs<f32[64], i32>>`. If one of them is double, so are the
/// parameters, sums, optimizer state, losses, metrics and predictions. `Kept` is how many percent of what backward reads of
/// forward may be stored at once; the rest is recomputed, with a small share several times: less memory for more work, with the
/// same bits (`recompute`). `WithinBudget` chooses it.
template <class Model, class In, class Where = Cpu, int Kept = 100>
struct Compiled {
  using Backend = Where;
  using Real = typename detail::RealOf<In>::type;  ///< of a parameter
  static_assert(Kept > 0 && Kept <= 100, "a net keeps 1 to 100 percent of its activations");
  /// The training step that holds a window's sums in S, a `ShadowType` (a constraint that clang 14 cannot parse here), for a
  /// loss that is scaled (`LossScale`) or not.
  template <class S, bool Scaled = false>
  using TrainingIn = Program<detail::TrainingTrace<Model, In, Kept, S, Scaled>>;
  using Training = TrainingIn<Real>;
  using Prediction = Program<detail::InferenceTrace<Model, In>>;
  using InputTypes = In;
  static constexpr int kept = Kept;
  static constexpr bool draws = false;  ///< whether predictions draw random numbers (`Drawing`)
  /// The same net keeping another share of its activations.
  template <int Percent>
  using Keeping = Compiled<Model, In, Backend, Percent>;
  /// The same net at several shares; a trainer picks the one for its budget: `Net::KeepingOneOf<100, 60, 35>`.
  template <int... Percent>
  using KeepingOneOf = OneOf<Keeping<Percent>...>;

  static constexpr int parameter_count = detail::ParametersOf<Model>::count;
  static constexpr const ParameterInfo& parameter(int index) { return detail::ParametersOf<Model>::table.of[index]; }
  static constexpr std::span<const ParameterInfo> declared() {
    return {detail::ParametersOf<Model>::table.of, parameter_count};
  }

  static constexpr MetricNames metric_names = metric_names_of<Model>(In{});
  /// Returns the index of a metric among the averages: `session.last_window().metric(Net::metric("accuracy"))`. An unknown name
  /// does not compile; for a name known only at run time call the session's `metric`.
  static consteval int metric(std::string_view name) {
    const int index = metric_names.find(name);
    return index < 0 ? detail::no_metric_has_this_name<metric_names.there_are()>(name) : index;
  }

  /// Returns the index of a parameter's first element among the elements of all parameters, stored one parameter after another;
  /// for the index past the last parameter, the number of all elements.
  static constexpr std::int64_t parameter_offset(int index) {
    std::int64_t offset = 0;
    for (int p = 0; p < index; ++p) offset += parameter(p).shape.unit();
    return offset;
  }
  static constexpr std::int64_t parameter_elements = parameter_offset(parameter_count);
  // Evaluates both here: with -Wall, g++ 14 needs them inside templates, where it instantiates no function to compute them.
  static_assert(parameter_elements >= 0);

  template <class Rule, class S = Real>
  using UpdateTraceOf = detail::UpdateTrace<Rule, detail::ParametersOf<Model>, SumOf<S>, Real>;
  /// Whether this rule's update is elementwise and so the same for all nets. A GPU's is compiled for one number of parameters.
  template <class Rule, class S = Real>
  static constexpr bool updates_by_element = [] {
    if constexpr (Backend::shares_host_memory && std::is_same_v<SumOf<S>, Real>) return UpdatesByElement<Rule, Real>;
    else return false;
  }();
  template <class Rule, class S = Real>
  using UpdateOf =
      Program<std::conditional_t<updates_by_element<Rule, S>, detail::ElementTrace<Rule, Real>, UpdateTraceOf<Rule, S>>>;

  /// Returns the bytes that a session with this optimizer allocates for micro-batches of `micro_batch` samples, by category.
  /// Errors: OptionError for sizes or options that no session could have.
  template <class Optimizer>
  static constexpr MemoryTable training_memory(const Optimizer&, std::int64_t micro_batch, const Planning& planning = {}) {
    return window_memory<Optimizer>(micro_batch, 0, planning);
  }

  /// Returns the bytes that an `Inference` for `batch` samples allocates, by category. Errors: as `training_memory`.
  static constexpr MemoryTable inference_memory(std::int64_t batch, int threads = 1) {
    return inference_layout<Compiled>.table(batch, threads);
  }

  /// Returns the largest batch that a session with this optimizer can train at once, as a whole window, within a budget.
  /// Errors: MemoryError, with the numbers, where not even one sample fits.
  template <class Optimizer>
  static constexpr LargestBatch largest_batch(const Optimizer&, Budget budget, const Planning& planning = {}) {
    constexpr std::int64_t countable = tables_for<Optimizer>().countable;
    const auto need = [&](std::int64_t batch) { return window_memory<Optimizer>(batch, batch, planning).total(); };
    const std::int64_t batch = largest_fitting(countable, budget.bytes, need);
    if (batch == 0) detail::refuse_budget(layout<Optimizer>(1, 1, planning), planning.gather, planning.frozen, budget, nullptr);
    return {batch, need(batch), batch < countable ? need(batch + 1) : Budget::unlimited};
  }

  /// Returns the micro-batch for windows of `global_batch` samples within a budget. Errors: as `largest_batch`, and OptionError
  /// for a global batch that is not positive.
  template <class Optimizer>
  static constexpr std::int64_t micro_batch(const Optimizer& optimizer, std::int64_t global_batch, Budget budget,
                                            Prefer prefer = Prefer::largest, const Planning& planning = {}) {
    const std::int64_t batch = fitting_micro_batch(optimizer, global_batch, budget, prefer, planning);
    if (batch == 0)
      detail::refuse_budget(layout<Optimizer>(1, global_batch, planning), planning.gather, planning.frozen, budget, nullptr);
    return batch;
  }
  /// Returns the same, but 0 where no micro-batch fits. Errors: OptionError.
  template <class Optimizer>
  static constexpr std::int64_t fitting_micro_batch(const Optimizer&, std::int64_t global_batch, Budget budget,
                                                    Prefer prefer = Prefer::largest, const Planning& planning = {}) {
    if (global_batch <= 0) throw OptionError("a global batch of " + std::to_string(global_batch));
    return pick_micro_batch(global_batch, tables_for<Optimizer>().block_samples, budget.bytes, prefer, [&](std::int64_t b) {
      return b > tables_for<Optimizer>().countable ? Budget::unlimited
                                                   : window_memory<Optimizer>(b, global_batch, planning).total();
    });
  }
  /// Returns the bytes that a session needs for such micro-batches of windows of `global_batch`. Errors: as `training_memory`.
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

/// A net for an `Inference` whose predictions apply dropout and noise as training does: each `Draw` is one net that could have
/// been, and the spread of their predictions tells how certain they are (Gal & Ghahramani 2016).
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
