#pragma once
#include <utility>

namespace gradual {

/// A guard that sets a place while it lives, and at its end puts back what was there.
template <class T>
class SetWhile {
 public:
  constexpr SetWhile(T& place, T value) : place_(place), before_(std::exchange(place, value)) {}
  constexpr ~SetWhile() { place_ = before_; }
  SetWhile(const SetWhile&) = delete;
  SetWhile& operator=(const SetWhile&) = delete;

 private:
  T& place_;
  T before_;
};

}  // namespace gradual
