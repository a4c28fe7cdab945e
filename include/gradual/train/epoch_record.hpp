#pragma once
#include <cstdint>
#include <vector>

#include <gradual/train/averages.hpp>

namespace gradual {

/// The results of one epoch.
struct EpochRecord {
  int epoch = 0;
  std::int64_t steps = 0;            ///< optimizer steps, including those of a loaded state
  std::int64_t dropped_windows = 0;  ///< since the session was made, like the next: their loss or gradient was not finite
  std::int64_t dropped_micro_batches = 0;
  Averages training, validation;     ///< training: over the windows that ended in this epoch
  double seconds = 0;
  bool improved = false;             ///< with patience: better than all epochs before; the last such is restored
};
using History = std::vector<EpochRecord>;

}  // namespace gradual
