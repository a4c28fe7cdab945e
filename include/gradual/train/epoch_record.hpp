#pragma once
#include <cstdint>
#include <vector>

#include <gradual/train/averages.hpp>

namespace gradual {

/// What was seen in one epoch.
struct EpochRecord {
  int epoch = 0;
  std::int64_t steps = 0;            ///< of the optimizer, those of a loaded state included
  std::int64_t dropped_windows = 0;  ///< since the session was made, as the next: loss or gradient were not finite
  std::int64_t dropped_micro_batches = 0;
  Averages training, validation;     ///< training: over the windows that ended in it
  double seconds = 0;
  bool improved = false;             ///< where a fit has patience: better than those before; the last such is restored
};
using History = std::vector<EpochRecord>;

}  // namespace gradual
