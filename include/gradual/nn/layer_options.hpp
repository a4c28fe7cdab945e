#pragma once

namespace gradual::nn {

/// Optional parts of a layer of products: `nn::Linear(s / "query", 64, 64, {.bias = false})`.
struct LayerOptions {
  bool bias = true;  ///< whether it adds a learned bias; without one, none is declared
};

}  // namespace gradual::nn
