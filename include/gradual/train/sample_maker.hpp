#pragma once
#include <cstdint>
#include <span>

namespace gradual::detail {

/// Fills in samples that are not stored anywhere, when a session is about to compute with them.
class SampleMaker {
 public:
  /// Returns where the arrays of the inputs begin, which the session sets before it calls `make`.
  virtual std::span<void*> places() = 0;
  /// Makes samples `rows`, one after another. Errors: those of the caller's function; DataError for invalid samples.
  virtual void make(std::span<const std::int32_t> rows) = 0;

 protected:
  ~SampleMaker() = default;
};

/// Samples given to a session: the place of each input's values, or their maker.
struct SamplesGiven {
  SamplesGiven(const void* const* where) : places(where) {}
  SamplesGiven(SampleMaker& who) : maker(&who) {}

  const void* const* places = nullptr;
  SampleMaker* maker = nullptr;
};

}  // namespace gradual::detail
