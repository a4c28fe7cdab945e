#pragma once
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gradual/train/notes.hpp>

namespace gradual {

/// A trainer's progress: everything beside its session's state that decides how it continues.
template <class Real>
struct FitState {
  int epoch = 0;             ///< number of complete ones
  std::int64_t done = 0;     ///< samples taken of the epoch that has begun
  bool begun = false;        ///< whether one has, even where it is to be learned from its first sample
  std::int64_t samples = 0;  ///< size of that epoch's data set
  std::uint64_t drawn_by = 0;  ///< hash of the weights that epoch draws by; 0 where it visits every sample
  Averages sums;             ///< over that epoch
  double best_loss = std::numeric_limits<double>::infinity();
  int without_progress = 0;     ///< epochs since the best one
  std::vector<Real> best = {};  ///< its parameters; empty while no epoch has been the best

  void store(Checkpoint& file) const {
    file.notes["epoch"] = detail::exact_text(epoch);
    file.notes["epoch done"] = detail::exact_text(done);
    if (begun && done == 0) file.notes["epoch begun"] = "";
    file.notes["epoch samples"] = detail::exact_text(samples);
    if (drawn_by != 0) file.notes["epoch drawn by"] = detail::exact_text(drawn_by);
    file.notes["epoch sums"] = detail::exact_text(sums);
    file.notes["best loss"] = detail::exact_text(best_loss);
    file.notes["without progress"] = detail::exact_text(without_progress);
    if (!best.empty()) file.add("fit/best", StoredTensor::of({std::ssize(best)}, std::span<const Real>(best)));
  }

  /// Errors: FileError where it is no trainer's state, lacks something or is not of a net of `elements` parameter values.
  static FitState from(const Checkpoint& file, const MetricSet* metrics, std::int64_t elements) {
    detail::check_is_state(file, true);
    FitState state;
    state.epoch = detail::number_in(file, "epoch", 0);
    state.done = detail::number_in<std::int64_t>(file, "epoch done", 0);
    state.begun = state.done > 0 || file.notes.contains("epoch begun");
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
