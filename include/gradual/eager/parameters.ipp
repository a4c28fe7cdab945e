#pragma once
#include <gradual/eager/parameters.hpp>

#include <string>

namespace gradual {

GRADUAL_ONCE void AnyParameters::require_values() const {
  if (!initialized() || size() != static_cast<int>(declared_.size()))
    throw TapeError("parameters: " + std::to_string(declared_.size()) + " are declared, " + std::to_string(size()) +
                    " have values: construct the whole model before a session or `initialize` gives it values");
}

GRADUAL_ONCE void AnyParameters::check_count(std::size_t count) const {
  if (static_cast<std::int64_t>(count) != offsets_.back())
    throw ShapeError("parameters: " + std::to_string(count) + " values for " + std::to_string(offsets_.back()));
}

GRADUAL_ONCE void AnyParameters::allocate() {
  std::vector<std::int64_t> offsets{0};
  std::int64_t bytes = 0;
  for (const ParameterInfo& info : declared_)
    if (!__builtin_add_overflow(bytes, eager::bytes_of(info.shape, 1, dtype_), &bytes))
      offsets.push_back(bytes / size_of(dtype_));
    else throw ShapeError("parameter '" + info.name.string() + "': all parameters together have no countable size");
  storage_ = device_.allocate(bytes, Category::parameters);
  offsets_ = std::move(offsets);
}

GRADUAL_ONCE void AnyParameters::require_readable() const {
  if (!device_.shares_host_memory())
    throw DeviceError(std::string("parameters: their values lie on ") + device_.name() +
                      ": copy_to fetches them, copy_from replaces them");
}

}  // namespace gradual
