#pragma once
#include <cstdint>
#include <span>

namespace gradual::detail {

/// Fills in samples that lie nowhere, where a session is about to compute with them.
class SampleMaker {
 public:
  /// Where the arrays of the inputs begin, which the session tells before it asks.
  virtual std::span<void*> places() = 0;
  /// Samples `rows`, one after another. Errors: what the caller's function throws; DataError for samples that are not valid.
  virtual void make(std::span<const std::int32_t> rows) = 0;

 protected:
  ~SampleMaker() = default;
};

/// Samples that a session is given: where those of each input lie, or who makes them.
struct SamplesGiven {
  SamplesGiven(const void* const* where) : places(where) {}
  SamplesGiven(SampleMaker& who) : maker(&who) {}

  const void* const* places = nullptr;
  SampleMaker* maker = nullptr;
};

}  // namespace gradual::detail
