#pragma once
#include <utility>

namespace gradual {

/// A check of samples that runs while they are copied to a device, if there is one.
struct DeferredCheck {
  void (*look)(const void*) = nullptr;
  const void* at = nullptr;
  template <class F>
  static DeferredCheck by(const F& f) {
    return {[](const void* g) { (*static_cast<const F*>(g))(); }, &f};
  }
  bool waits() const { return look != nullptr; }
  /// Runs the check, but only once.
  void operator()() {
    if (waits()) std::exchange(look, nullptr)(at);
  }
};

}  // namespace gradual
