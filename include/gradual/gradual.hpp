#pragma once
// Everything that users need.
#if __cplusplus < 202002L
#error "gradual: C++20 is needed: add -std=c++20"
#endif
#include <gradual/core/hide_names.hpp>

#include <gradual/autodiff/class_metrics.hpp>
#include <gradual/autodiff/explain.hpp>
#include <gradual/autodiff/gradients.hpp>
#include <gradual/autodiff/graphviz.hpp>
#include <gradual/autodiff/ops.hpp>
#include <gradual/autodiff/print.hpp>
#include <gradual/autodiff/tap.hpp>
#include <gradual/autodiff/with_vjp.hpp>
#include <gradual/core/error.hpp>
#include <gradual/data/concordance.hpp>
#include <gradual/data/confusion_matrix.hpp>
#include <gradual/data/csv.hpp>
#include <gradual/data/folds.hpp>
#include <gradual/data/idx.hpp>
#include <gradual/data/imputer.hpp>
#include <gradual/data/normalizer.hpp>
#include <gradual/data/roc_auc.hpp>
#include <gradual/eager/print_tensor.hpp>
#include <gradual/nn/activations.hpp>
#include <gradual/nn/attention.hpp>
#include <gradual/nn/bidirectional.hpp>
#include <gradual/nn/conv.hpp>
#include <gradual/nn/conv_transpose.hpp>
#include <gradual/nn/cross_attention.hpp>
#include <gradual/nn/dropout.hpp>
#include <gradual/nn/embedding.hpp>
#include <gradual/nn/group_norm.hpp>
#include <gradual/nn/gru.hpp>
#include <gradual/nn/layer_norm.hpp>
#include <gradual/nn/linear.hpp>
#include <gradual/nn/lstm.hpp>
#include <gradual/nn/sequential.hpp>
#include <gradual/optim/accumulate.hpp>
#include <gradual/optim/adadelta.hpp>
#include <gradual/optim/adafactor.hpp>
#include <gradual/optim/adagrad.hpp>
#include <gradual/optim/adam.hpp>
#include <gradual/optim/adamax.hpp>
#include <gradual/optim/amsgrad.hpp>
#include <gradual/optim/by_name.hpp>
#include <gradual/optim/by_rank.hpp>
#include <gradual/optim/clip_by_global_norm.hpp>
#include <gradual/optim/clip_by_value.hpp>
#include <gradual/optim/ema.hpp>
#include <gradual/optim/lamb.hpp>
#include <gradual/optim/lars.hpp>
#include <gradual/optim/lbfgs.hpp>
#include <gradual/optim/lion.hpp>
#include <gradual/optim/lookahead.hpp>
#include <gradual/optim/loss_scale.hpp>
#include <gradual/optim/muon.hpp>
#include <gradual/optim/nadam.hpp>
#include <gradual/optim/radam.hpp>
#include <gradual/optim/rmsprop.hpp>
#include <gradual/optim/sam.hpp>
#include <gradual/optim/scale_rate.hpp>
#include <gradual/optim/scale_update.hpp>
#include <gradual/optim/sgd.hpp>
#include <gradual/optim/shampoo.hpp>
#include <gradual/optim/weight_decay.hpp>
#include <gradual/train/budget_trainer.hpp>
#include <gradual/train/compiled.hpp>
#include <gradual/train/eager_net.hpp>
#include <gradual/train/fastest_micro_batch.hpp>
#include <gradual/train/first_non_finite.hpp>
#include <gradual/train/inference.hpp>
#include <gradual/train/print_memory.hpp>
#include <gradual/train/print_plan.hpp>
#include <gradual/train/session.hpp>
#include <gradual/train/tapped.hpp>
#include <gradual/train/timeline_svg.hpp>
#include <gradual/train/trace_file.hpp>
#include <gradual/train/trainer.hpp>
#include <gradual/train/within_budget.hpp>

#ifdef GRADUAL_SHARED_KERNELS
#include <gradual/shared_kernels.hpp>
#include <gradual/shared_recording.hpp>
#endif

#include <gradual/core/restore_names.hpp>
