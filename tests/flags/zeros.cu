// Choices whose zeros differ from those of a minimum or a maximum, which nvcc would make of them.
#include <gradual/autodiff/ops/where.hpp>

using namespace gradual;

__global__ void below(float* to) { *to = Where::apply(math::one_where<float>(*to < 0), *to, 0.0f); }
__global__ void above(double* to) { *to = Where::apply(math::one_where<double>(*to > -0.0), *to, -0.0); }
