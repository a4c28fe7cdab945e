#pragma once
#include <variant>

#include <gradual/train/trainer.hpp>
#include <gradual/train/training_way.hpp>

namespace gradual {

/// A trainer of a net that was compiled at several shares of kept activations, which takes the cheapest way that fits its
/// budget. The bits do not depend on it, and a state saved by one of them can be loaded by any other.
///   Trainer trainer(Net::KeepingOneOf<100, 60, 35>{}, optimizer, {.global_batch = 512, .memory_budget = bytes});
template <class First, class... Rest, class Optimizer>
class Trainer<OneOf<First, Rest...>, Optimizer> {
  using Data = DatasetOf<typename First::InputTypes>;
  using Nets = OneOf<First, Rest...>;
  using AnyTrainer = std::variant<Trainer<First, Optimizer>, Trainer<Rest, Optimizer>...>;

 public:
  using Options = FitOptions<Data>;

  /// Errors: as those of the trainer of one net; MemoryError where no way fits, with the numbers of the last net.
  Trainer(Nets nets, const Optimizer& optimizer, const TrainerOptions& options)
      : way_(cheapest_way(nets, optimizer, options.global_batch, budget(options), planning(options),
                          options.micro_batch)),
        trainer_(made<First, Rest...>(way_.kept, optimizer, options)) {}

  /// Returns the way chosen at construction.
  const TrainingWay& way() const { return way_; }
  /// Calls f(trainer) with the trainer of the chosen net.
  template <class F>
  decltype(auto) visit(F f) {
    return std::visit(f, trainer_);
  }
  template <class F>
  decltype(auto) visit(F f) const {
    return std::visit(f, trainer_);
  }

  // As those of the trainer of one net.
  History fit(const Data& data, const Options& options = {}) {
    return visit([&](auto& trainer) { return trainer.fit(data, options); });
  }
  void stop() {
    visit([](auto& trainer) { trainer.stop(); });
  }
  void discard_epoch() {
    visit([](auto& trainer) { trainer.discard_epoch(); });
  }
  Averages evaluate(const Data& data) {
    return visit([&](auto& trainer) { return trainer.evaluate(data); });
  }
  Averages evaluate_averaged(const Data& data) {
    return visit([&](auto& trainer) { return trainer.evaluate_averaged(data); });
  }
  std::vector<typename First::Real> losses(const Data& data) {
    return visit([&](auto& trainer) { return trainer.losses(data); });
  }
  template <class... Span>
  std::vector<typename First::Real> predict(const Span&... inputs) {
    return visit([&](auto& trainer) { return trainer.predict(inputs...); });
  }
  void save(const std::string& path, Checkpoint file = {}, DType type = dtype_of<typename First::Real>) const {
    visit([&](auto& trainer) { trainer.save(path, std::move(file), type); });
  }
  void load(const std::string& path, std::string_view pattern = every_name) {
    visit([&](auto& trainer) { trainer.load(path, pattern); });
  }
  void save_state(const std::string& path, const Checkpoint& file = {}) const {
    visit([&](auto& trainer) { trainer.save_state(path, file); });
  }
  void load_state(const std::string& path) {
    visit([&](auto& trainer) { trainer.load_state(path); });
  }
  /// Changes the micro-batch, but not the share of kept activations.
  void set_budget(Budget budget) {
    visit([&](auto& trainer) { trainer.set_budget(budget); });
  }
  static int metric(std::string_view name) { return First::metric_names.at(name); }
  static std::span<const Name> metric_names() { return First::metric_names.all(); }
  int epoch() const {
    return visit([](auto& trainer) { return trainer.epoch(); });
  }
  const MemoryTable& memory() const {
    return visit([](auto& trainer) -> const MemoryTable& { return trainer.memory(); });
  }
  auto parameters() const {
    return visit([](auto& trainer) {
      const auto parameters = trainer.parameters();
      if constexpr (First::Backend::shares_host_memory)
        return ParametersView<First>(parameters.values().data());
      else
        return ParametersCopy<First>(parameters.values());
    });
  }

 private:
  static Budget budget(const TrainerOptions& options) {
    return options.memory_budget.follows ? First::Backend::free_memory() : options.memory_budget;
  }
  static Planning planning(const TrainerOptions& options) {
    const SessionOptions session = detail::checked(detail::session_options(options), 0);
    return {session.open_blocks, session.threads, true, Frozen(session.freeze, First::declared()).elements(),
            detail::extras(session)};
  }

  template <class Net, class... Others>
  static AnyTrainer made(int kept, const Optimizer& optimizer, const TrainerOptions& options) {
    if constexpr (sizeof...(Others) > 0)
      if (kept != Net::kept) return made<Others...>(kept, optimizer, options);
    return AnyTrainer(std::in_place_type<Trainer<Net, Optimizer>>, Net{}, optimizer, options);
  }

  TrainingWay way_;
  AnyTrainer trainer_;
};

}  // namespace gradual
