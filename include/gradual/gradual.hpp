#pragma once
// Everything that users need.
#include <gradual/autodiff/ops.hpp>
#include <gradual/core/error.hpp>
#include <gradual/nn/activations.hpp>
#include <gradual/nn/linear.hpp>
#include <gradual/nn/sequential.hpp>
#include <gradual/optim/accumulate.hpp>
#include <gradual/optim/adam.hpp>
#include <gradual/optim/clip_by_global_norm.hpp>
#include <gradual/optim/sgd.hpp>
#include <gradual/train/compiled.hpp>
#include <gradual/train/csv.hpp>
#include <gradual/train/inference.hpp>
#include <gradual/train/normalizer.hpp>
#include <gradual/train/print_memory.hpp>
#include <gradual/train/session.hpp>
#include <gradual/train/trainer.hpp>
