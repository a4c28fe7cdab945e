#pragma once
/// Gradual with its CUDA backend, for sources that nvcc compiles.
#include <gradual/cuda/backend.hpp>
#include <gradual/gradual.hpp>
