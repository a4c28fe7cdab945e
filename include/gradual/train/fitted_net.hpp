#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include <gradual/autodiff/tape.hpp>
#include <gradual/train/averages.hpp>
#include <gradual/train/session_options.hpp>

namespace gradual::detail {

/// A session's position between two micro-batches.
struct SessionStanding {
  std::int64_t steps, position;
  std::int64_t given;  ///< samples given to the window: also those dropped
  std::int64_t dropped_windows, dropped_micro_batches;
  double loss_scale;
  bool again, waits_for_step;  ///< as those of `SessionBase`
};

/// The net, its data and its session, as `FitLoop` sees them.
template <class Real>
class FittedNet {
 public:
  /// Errors: DataError for data that a net of this type cannot learn from or be validated on.
  virtual void check_data() const = 0;
  virtual std::int64_t samples() const = 0;
  virtual const SessionOptions& options() const = 0;
  virtual SessionStanding standing() const = 0;
  /// Returns the length of the window that has begun. Errors: OptionError where its schedule yields no number of samples.
  virtual std::int64_t window() const = 0;
  virtual const Averages& last_window() const = 0;
  virtual std::span<const Name> metric_names() const = 0;
  virtual std::span<const ParameterInfo> declared() const = 0;
  virtual std::vector<Real> values() const = 0;
  /// Returns their average; before the first step, and where none is kept, the parameters.
  virtual std::vector<Real> averaged() const = 0;
  virtual void set_parameters(std::span<const Real> values) = 0;
  /// As `Session::accumulate_rows`, on the training data.
  virtual void learn(std::span<const std::int32_t> rows, std::uint64_t epoch, bool last, std::int64_t& done) = 0;
  virtual void discard() = 0;
  /// Evaluates on the validation data.
  virtual Averages evaluate() = 0;

 protected:
  ~FittedNet() = default;
};

}  // namespace gradual::detail
