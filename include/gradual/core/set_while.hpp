#pragma once

namespace gradual {

/// Sets a place while it lives, and back to nothing then.
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
