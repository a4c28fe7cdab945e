#pragma once
#include <cerrno>

namespace gradual::detail {

/// Makes a system call again as long as signals interrupt it, whose handlers may be those that stop a fit. Returns its result.
template <class F>
auto uninterrupted(F call) {
  for (;;)
    if (const auto result = call(); result >= 0 || errno != EINTR) return result;
}

}  // namespace gradual::detail
