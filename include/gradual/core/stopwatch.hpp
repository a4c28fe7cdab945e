#pragma once

namespace gradual {

/// A stopwatch that runs from its construction.
class Stopwatch {
 public:
  double seconds() const { return now() - begin_; }

 private:
  static double now();
  double begin_ = now();
};

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/core/stopwatch.ipp>
#endif
