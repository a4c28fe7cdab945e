#pragma once
#include <gradual/core/stopwatch.hpp>

#include <chrono>

#include <gradual/core/config.hpp>

namespace gradual {

GRADUAL_ONCE double Stopwatch::now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace gradual
