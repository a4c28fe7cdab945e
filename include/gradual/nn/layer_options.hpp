#pragma once

namespace gradual::nn {

/// What a layer of products may be without: `nn::Linear(s / "query", 64, 64, {.bias = false})`.
struct LayerOptions {
  bool bias = true;  ///< whether it adds a learned bias; one that it does not add is not declared
};

}  // namespace gradual::nn
