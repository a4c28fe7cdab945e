#pragma once
#include <utility>

namespace gradual {

/// Samples that are looked at while they are copied to a device, if anybody does.
struct Validation {
  void (*look)(const void*) = nullptr;
  const void* at = nullptr;
  template <class F>
  static Validation by(const F& f) {
    return {[](const void* g) { (*static_cast<const F*>(g))(); }, &f};
  }
  bool waits() const { return look != nullptr; }
  /// Once.
  void operator()() {
    if (waits()) std::exchange(look, nullptr)(at);
  }
};

}  // namespace gradual
