#pragma once
#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include <gradual/eager/tape.hpp>
#include <gradual/eager/tensor.hpp>

namespace gradual {

/// The values that a model named by `tap`, in the order of its calls.
class Tapped {
 public:
  struct Entry {
    std::string name;
    Tensor value;
  };
  void add(std::string_view name, const Tensor& value);

  /// Returns the first value of that name. Errors: OptionError, with the existing names.
  const Tensor& operator[](std::string_view name) const;
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  std::size_t size() const { return entries_.size(); }

 private:
  std::vector<Entry> entries_;
};

std::ostream& operator<<(std::ostream& out, const Tapped& tapped);

/// Returns what has been tapped on an eager tape so far.
Tapped tapped(EagerTape& tape);

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/eager/tapped.ipp>
#endif
