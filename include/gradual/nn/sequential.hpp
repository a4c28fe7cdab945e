#pragma once
#include <tuple>

#include <gradual/autodiff/tape.hpp>

namespace gradual::nn {

/// Layers applied one after another: anything that maps a Var to a Var.
template <class... Layer>
class Sequential {
 public:
  constexpr explicit Sequential(Layer... layers) : layers_(layers...) {}
  constexpr Var operator()(Var x) const {
    std::apply([&](const Layer&... layer) { ((x = layer(x)), ...); }, layers_);
    return x;
  }

 private:
  std::tuple<Layer...> layers_;
};

}  // namespace gradual::nn
