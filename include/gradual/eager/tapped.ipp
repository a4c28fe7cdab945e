#pragma once
#include <gradual/eager/tapped.hpp>

#include <ostream>

#include <gradual/autodiff/tap.hpp>
#include <gradual/core/config.hpp>
#include <gradual/core/no_such_name.hpp>
#include <gradual/eager/print_tensor.hpp>

namespace gradual {

GRADUAL_ONCE void Tapped::add(std::string_view name, const Tensor& value) { entries_.push_back({std::string(name), value}); }

GRADUAL_ONCE const Tensor& Tapped::operator[](std::string_view name) const {
  for (const Entry& entry : entries_)
    if (entry.name == name) return entry.value;
  throw OptionError("tapped: " + detail::no_such_name("value", name, entries_, [](const Entry& e) { return e.name.c_str(); }));
}

GRADUAL_ONCE std::ostream& operator<<(std::ostream& out, const Tapped& tapped) {
  for (const Tapped::Entry& entry : tapped) out << entry.name << ": " << entry.value << "\n";
  return out;
}

GRADUAL_ONCE Tapped tapped(EagerTape& tape) {
  Tapped result;
  for (const Tap& tap : tape.taps) result.add(tap.name.view(), value({&tape, tap.node}));
  return result;
}

}  // namespace gradual
