#pragma once
#include <gradual/eager/parameters.hpp>

#include <string>

namespace gradual {

GRADUAL_ONCE void AnyParameters::refuse_moved() { throw OptionError("the parameters were moved from"); }

GRADUAL_ONCE void AnyParameters::require_values() const {
  if (!initialized() || size() != static_cast<int>(declared().size()))
    throw TapeError("parameters: " + std::to_string(declared().size()) + " are declared, " +
                    (initialized() ? std::to_string(size()) : "none") +
                    " have values: construct the whole model before making a session or calling `initialize`");
}

GRADUAL_ONCE void AnyParameters::check_count(std::size_t count) const {
  if (static_cast<std::int64_t>(count) != offsets().back())
    throw ShapeError("parameters: " + std::to_string(count) + " values for " + std::to_string(offsets().back()));
}

GRADUAL_ONCE void AnyParameters::allocate() {
  Held& h = held();
  std::vector<std::int64_t> offsets{0};
  std::int64_t bytes = 0;
  for (const ParameterInfo& info : h.declared)
    if (!__builtin_add_overflow(bytes, eager::bytes_of(info.shape, 1, h.dtype), &bytes))
      offsets.push_back(bytes / size_of(h.dtype));
    else throw ShapeError("parameter '" + info.name.string() + "': all parameters together are too large");
  h.storage = h.device.allocate(bytes, Category::parameters);
  h.offsets = std::move(offsets);
}

GRADUAL_ONCE void AnyParameters::require_readable() const {
  if (!device().shares_host_memory())
    throw DeviceError(std::string("parameters: their values lie on ") + device().name() +
                      ": copy_to fetches them, copy_from replaces them");
}

}  // namespace gradual
