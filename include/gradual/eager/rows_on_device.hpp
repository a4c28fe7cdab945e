#pragma once
#include <cstdint>
#include <span>

#include <gradual/eager/device.hpp>

namespace gradual::eager {

/// Row numbers of a data set where a device reads them, valid until the next call.
class RowsOnDevice {
 public:
  /// Returns null for no rows. Errors: MemoryError, DeviceError.
  const std::int32_t* of(const Device& device, std::span<const std::int32_t> rows) {
    if (rows.empty() || device.shares_host_memory()) return rows.data();
    const auto bytes = static_cast<std::int64_t>(rows.size_bytes());
    copy_ = device.allocate(bytes);
    device.copy(copy_.data(), rows.data(), bytes);
    return reinterpret_cast<const std::int32_t*>(copy_.data());
  }

 private:
  Storage copy_;
};

}  // namespace gradual::eager
