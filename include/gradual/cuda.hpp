#pragma once
/// Gradual with its CUDA backend, for sources that nvcc compiles.
#include <gradual/core/hide_names.hpp>

#include <gradual/cuda/backend.hpp>
#include <gradual/cuda/eager/executor.hpp>
#include <gradual/gradual.hpp>

#include <gradual/core/restore_names.hpp>
