#pragma once
#include <optional>

#include <gradual/cuda/convolution_form.hpp>
#include <gradual/cuda/runtime.hpp>

namespace gradual::cuda {

inline constexpr bool has_convolution_library = false;

struct LibraryConvolution {};

/// Stands in for cuDNN where it is not linked: supports no convolution.
class ConvolutionLibrary {
 public:
  std::optional<LibraryConvolution> find(const ConvolutionForm&, std::int64_t, std::int64_t) const { return {}; }
  void run(const LibraryConvolution&, const Stream&, void*, void*, void*, void*) const {}
};

}  // namespace gradual::cuda
