#pragma once
#include <functional>
#include <limits>
#include <optional>

#include <gradual/core/shuffle.hpp>
#include <gradual/train/checkpoint.hpp>
#include <gradual/train/dataset.hpp>
#include <gradual/train/micro_batch.hpp>
#include <gradual/train/progress.hpp>
#include <gradual/train/session.hpp>

namespace gradual {

struct TrainerOptions {
  std::int64_t global_batch = 0;   ///< samples of one optimizer step
  std::int64_t micro_batch = 0;    ///< samples at once; 0: the most that the budget allows
  std::int64_t memory_budget = std::numeric_limits<std::int64_t>::max();  ///< bytes for everything the session holds
  std::uint64_t seed = 0;
  int threads = 1;
  std::vector<std::string> freeze = {};  ///< parameters that training must not change: names, or patterns as "hidden/*"
};

/// What was seen in one epoch.
struct EpochRecord {
  int epoch = 0;
  std::int64_t steps = 0;
  Averages training, validation;
  double seconds = 0;
};
using History = std::vector<EpochRecord>;

template <class Data>
struct FitOptions {
  int epochs = 1;
  std::optional<Data> validate = {};
  int patience = 0;  ///< epochs without a better validation loss before stopping; 0: never. The best ones are restored
  Progress progress = Progress::automatic;
  std::function<void(const EpochRecord&)> on_epoch = {};
  std::function<void(std::int64_t step, const Averages& window)> on_step = {};
};

/// Trains a compiled net on a data set: shuffling, micro-batches within a memory budget, validation, progress.
template <class Net, class Optimizer>
class Trainer {
  using Data = DatasetOf<typename Net::InputTypes>;

 public:
  using Session = gradual::Session<Net, Optimizer>;

  /// Errors: MemoryError where one sample does not fit the budget; OptionError for a global batch that is not positive.
  Trainer(Net net, const Optimizer& optimizer, const TrainerOptions& options)
      : seed_(options.seed), session_(net, optimizer, session_options(options)) {}

  /// Runs `epochs` passes in an order keyed by (seed, epoch); the last window of an epoch steps on what it has.
  /// Errors: DataError for labels outside the classes or values that are not finite, before anything is learned.
  History fit(const Data& data, const FitOptions<Data>& options) {
    validate(data);
    if (options.validate) validate(*options.validate);
    ProgressLine line(options.progress, options.epochs);
    History history;
    std::vector<std::int32_t> order(static_cast<std::size_t>(data.size()));
    std::vector<float> best;
    double best_loss = std::numeric_limits<double>::infinity();
    int without_progress = 0;
    for (int i = 0; i < options.epochs; ++i, ++epoch_) {
      EpochRecord record;
      record.epoch = epoch_;
      const Stopwatch watch;
      shuffle(std::span(order), seed_, static_cast<std::uint64_t>(epoch_));
      record.training = run_epoch(data, order, options);
      record.seconds = watch.seconds();
      record.steps = session_.step_count();
      if (options.validate) record.validation = evaluate(*options.validate);
      history.push_back(record);
      line.show(i + 1, record.training, record.validation, static_cast<double>(data.size()) / record.seconds);
      if (options.on_epoch) options.on_epoch(record);
      if (options.patience <= 0 || !options.validate) continue;
      if (record.validation.loss() < best_loss) {
        best_loss = record.validation.loss();
        best.assign(session_.parameters().values().begin(), session_.parameters().values().end());
        without_progress = 0;
      } else if (++without_progress == options.patience) {
        break;
      }
    }
    if (!best.empty()) std::copy(best.begin(), best.end(), session_.parameters().values().begin());
    return history;
  }

  /// Weighted means of loss and metrics over a data set.
  Averages evaluate(const Data& data) { return data.apply([&](auto... spans) { return session_.evaluate(spans...); }); }

  /// Writes the parameters by name, beside what `file` holds already. Errors: FileError; the old file is then as it was.
  void save(const std::string& path, Checkpoint file = {}) const {
    save_parameters<Net>(path, session_.parameters(), std::move(file));
  }
  /// Reads parameters by name. Errors: FileError; the parameters are then as they were.
  void load(const std::string& path) { load_parameters(gradual::load(path), session_.parameters()); }

  const MemoryTable& memory() const { return session_.memory(); }
  ParametersView<Net> parameters() const { return session_.parameters(); }
  Session& session() { return session_; }

 private:
  static SessionOptions session_options(const TrainerOptions& options) {
    if (options.global_batch <= 0)
      throw OptionError("Trainer: a global batch of " + std::to_string(options.global_batch));
    SessionOptions result;
    result.global_batch = options.global_batch;
    result.micro_batch = options.micro_batch;
    result.open_blocks = OpenBlocks::as_needed;
    result.gather = true;
    result.seed = options.seed;
    result.threads = options.threads;
    result.freeze = options.freeze;
    using Layout = TrainingLayout<Net, RuleOf<Optimizer>>;
    const std::int64_t frozen = Frozen<Net, Layout::states>(options.freeze).elements();
    const auto need = [&](std::int64_t micro_batch) {
      return Layout(micro_batch, options.global_batch, OpenBlocks::as_needed, options.threads).table(true, frozen).total();
    };
    if (result.micro_batch == 0)
      result.micro_batch = largest_micro_batch(options.global_batch, Layout::block_samples(), options.memory_budget, need);
    else if (need(result.micro_batch) > options.memory_budget)
      throw MemoryError("micro-batches of " + std::to_string(result.micro_batch) + " need " +
                        std::to_string(need(result.micro_batch)) + " bytes, the budget is " +
                        std::to_string(options.memory_budget));
    return result;
  }

  static void validate(const Data& data) {
    const std::int64_t samples = data.apply(
        [](auto... spans) { return validate_inputs<typename Net::Training>(typename Net::InputTypes{}, spans...); });
    if (samples != data.size())
      throw DataError("the data set counts " + std::to_string(data.size()) + " samples where the net finds " +
                      std::to_string(samples) + ": make it by Dataset::of(samples, spans...)");
  }

  Averages run_epoch(const Data& data, std::span<const std::int32_t> order, const FitOptions<Data>& options) {
    Averages sums(Net::Training::count_of(Role::metric));
    const auto window = static_cast<std::size_t>(session_.options().global_batch);
    for (std::size_t done = 0; done < order.size();) {
      const std::size_t count = std::min(window, order.size() - done);
      const auto rows = order.subspan(done, count);
      data.apply([&](auto... spans) { return session_.accumulate_rows(rows, static_cast<std::uint64_t>(epoch_), true, spans...); });
      sums.add(session_.last_window());
      done += count;
      if (options.on_step) options.on_step(session_.step_count(), session_.last_window());
    }
    return sums;
  }

  std::uint64_t seed_;
  Session session_;
  int epoch_ = 0;
};

}  // namespace gradual
