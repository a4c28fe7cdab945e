#pragma once

namespace gradual {

/// A guard that sets a place while it lives and resets it to T{} at its end.
template <class T>
class SetWhile {
 public:
  constexpr SetWhile(T& place, T value) : place_(place) { place_ = value; }
  constexpr ~SetWhile() { place_ = T{}; }
  SetWhile(const SetWhile&) = delete;
  SetWhile& operator=(const SetWhile&) = delete;

 private:
  T& place_;
};

}  // namespace gradual
