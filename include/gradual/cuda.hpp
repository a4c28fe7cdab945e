#pragma once
/// Gradual with its CUDA backend, for sources that nvcc compiles.
#include <gradual/cuda/backend.hpp>
#include <gradual/cuda/eager/executor.hpp>
#include <gradual/gradual.hpp>
