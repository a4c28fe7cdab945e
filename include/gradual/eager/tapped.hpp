#pragma once
#include <ostream>
#include <string>
#include <vector>

#include <gradual/autodiff/tap.hpp>
#include <gradual/core/no_such_name.hpp>
#include <gradual/eager/print_tensor.hpp>
#include <gradual/eager/tape.hpp>

namespace gradual {

/// The values that a model named by `tap`, in the order of its calls.
class Tapped {
 public:
  struct Entry {
    std::string name;
    Tensor value;
  };
  void add(std::string_view name, const Tensor& value) { entries_.push_back({std::string(name), value}); }

  /// Returns the first value of that name. Errors: OptionError, with the existing names.
  const Tensor& operator[](std::string_view name) const {
    for (const Entry& entry : entries_)
      if (entry.name == name) return entry.value;
    throw OptionError("tapped: " + detail::no_such_name("value", name, entries_, [](const Entry& e) { return e.name.c_str(); }));
  }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  std::size_t size() const { return entries_.size(); }

 private:
  std::vector<Entry> entries_;
};

inline std::ostream& operator<<(std::ostream& out, const Tapped& tapped) {
  for (const Tapped::Entry& entry : tapped) out << entry.name << ": " << entry.value << "\n";
  return out;
}

/// Returns what has been tapped on an eager tape so far.
inline Tapped tapped(EagerTape& tape) {
  Tapped result;
  for (const Tap& tap : tape.taps) result.add(tap.name.view(), value({&tape, tap.node}));
  return result;
}

}  // namespace gradual
