#pragma once
// What tests of the CUDA backend share. nvcc makes them for a GPU, a C++ compiler for the host twin, whose threads take
// their turns in both orders, and whose streams work at once or late.
#include <gtest/gtest.h>

#include "../models.hpp"
#include "../shared_kernels.hpp"

namespace models {

/// √(w·x): an input of 0 has a finite loss and no gradient.
struct SquareRoot {
  Parameter weight;
  constexpr explicit SquareRoot(Scope s) : weight(s.parameter("weight", Shape{2}, init::constant(0.5))) {}
  constexpr Loss loss(Var x) const { return Loss(sum(sqrt(x * weight.on(x)), {-1})); }
};

}  // namespace models

/// Skips where there is no device. The parameter: whether the twin's threads run from the last to the first.
class CudaTest : public testing::TestWithParam<bool> {
  void SetUp() override {
    if (!gradual::cuda::device_found()) GTEST_SKIP() << "skipped: no CUDA device";
#if defined(GRADUAL_CUDA_TWIN)
    gradual::cuda::twin_runs_backwards = gradual::cuda::twin_works_late = GetParam();
#endif
  }
};

#if defined(GRADUAL_CUDA_TWIN)
inline const auto turns = testing::Bool();
#else
inline const auto turns = testing::Values(false);
#endif
inline std::string name_of_turns(const testing::TestParamInfo<bool>& info) { return info.param ? "Backwards" : "Forwards"; }
