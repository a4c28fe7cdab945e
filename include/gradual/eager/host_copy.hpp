#pragma once
#include <span>
#include <vector>

#include <gradual/eager/device.hpp>

namespace gradual::eager {

/// An array on a device as the host reads it: the array itself or, if the host cannot read the device's memory, a copy.
template <class Real>
class HostCopy {
 public:
  /// Returns the values, valid until the next call. Errors: DeviceError.
  std::span<const Real> of(const Device& device, const Real* values, std::int64_t count) const {
    const auto size = static_cast<std::size_t>(count);
    if (device.shares_host_memory()) return {values, size};
    copy_.resize(size);
    device.read(copy_.data(), values, count * std::int64_t{sizeof(Real)});
    return copy_;
  }

 private:
  mutable std::vector<Real> copy_;
};

}  // namespace gradual::eager
