#pragma once
#include <gradual/autodiff/tape.hpp>

namespace gradual {

/// Names a value inside a model, so that `tapped` can show it; returns x. No op is recorded: the compiled program, its memory
/// and its bits are the same as without it. A name may be given to several values.
constexpr Var tap(Var x, std::string_view name) {
  if (!x.valid()) return x;
  Tap tap;
  tap.name << name;
  tap.node = x.id;
  x.tape->taps.push_back(tap);
  return x;
}

}  // namespace gradual
