#pragma once
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gradual/train/notes.hpp>

namespace gradual {

/// How far a trainer has come: what, beside its session, decides how it goes on.
template <class Real>
struct FitState {
  int epoch = 0;             ///< complete ones
  std::int64_t done = 0;     ///< samples of the epoch that has begun
  std::int64_t samples = 0;  ///< of the data set that it goes through
  std::uint64_t drawn_by = 0;  ///< a hash of the weights by which it draws them; 0 where it goes through all
  Averages sums;             ///< over that epoch
  double best_loss = std::numeric_limits<double>::infinity();
  int without_progress = 0;     ///< epochs since the best one
  std::vector<Real> best = {};  ///< its parameters; empty where none was validated

  void store(Checkpoint& file) const {
    file.notes["epoch"] = detail::exact_text(epoch);
    file.notes["epoch done"] = detail::exact_text(done);
    file.notes["epoch samples"] = detail::exact_text(samples);
    if (drawn_by != 0) file.notes["epoch drawn by"] = detail::exact_text(drawn_by);
    file.notes["epoch sums"] = detail::exact_text(sums);
    file.notes["best loss"] = detail::exact_text(best_loss);
    file.notes["without progress"] = detail::exact_text(without_progress);
    if (!best.empty()) file.add("fit/best", StoredTensor::of({std::ssize(best)}, std::span<const Real>(best)));
  }

  /// Errors: FileError where it is no trainer's state, something is missing or is not of a net of `elements` parameter values.
  static FitState from(const Checkpoint& file, const MetricSet* metrics, std::int64_t elements) {
    detail::check_is_state(file, true);
    FitState state;
    state.epoch = detail::number_in(file, "epoch", 0);
    state.done = detail::number_in<std::int64_t>(file, "epoch done", 0);
    state.samples = detail::number_in<std::int64_t>(file, "epoch samples", state.done);
    if (file.notes.contains("epoch drawn by"))
      state.drawn_by = detail::number_in<std::uint64_t>(file, "epoch drawn by", 1);
    state.sums = detail::averages_in(file, "epoch sums", metrics);
    state.best_loss = detail::number_in(file, "best loss", -std::numeric_limits<double>::infinity());
    state.without_progress = detail::number_in(file, "without progress", 0);
    if (!file.tensors.contains("fit/best")) return state;
    state.best = file.tensor("fit/best", dtype_of<Real>).template elements<Real>();
    if (static_cast<std::int64_t>(state.best.size()) != elements)
      throw FileError("tensor 'fit/best' has " + std::to_string(state.best.size()) + " values instead of " +
                      std::to_string(elements));
    return state;
  }
};

}  // namespace gradual
