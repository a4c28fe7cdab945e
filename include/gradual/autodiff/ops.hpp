#pragma once
// Every op. Kernels and sweeps are made from the lists below; tests/host/readme_test.cpp checks that none is missing.
#include <gradual/autodiff/op_list.hpp>
#include <gradual/autodiff/ops/abs.hpp>
#include <gradual/autodiff/ops/add.hpp>
#include <gradual/autodiff/ops/argmax.hpp>
#include <gradual/autodiff/ops/argmin.hpp>
#include <gradual/autodiff/ops/atan2.hpp>
#include <gradual/autodiff/ops/avg_pool.hpp>
#include <gradual/autodiff/ops/broadcast.hpp>
#include <gradual/autodiff/ops/clamp.hpp>
#include <gradual/autodiff/ops/concat.hpp>
#include <gradual/autodiff/ops/constant.hpp>
#include <gradual/autodiff/ops/conv1d.hpp>
#include <gradual/autodiff/ops/conv2d.hpp>
#include <gradual/autodiff/ops/conv_transpose.hpp>
#include <gradual/autodiff/ops/convert.hpp>
#include <gradual/autodiff/ops/cos.hpp>
#include <gradual/autodiff/ops/cross_entropy.hpp>
#include <gradual/autodiff/ops/cumsum.hpp>
#include <gradual/autodiff/ops/digamma.hpp>
#include <gradual/autodiff/ops/divide.hpp>
#include <gradual/autodiff/ops/dropout.hpp>
#include <gradual/autodiff/ops/elu.hpp>
#include <gradual/autodiff/ops/equal.hpp>
#include <gradual/autodiff/ops/erf.hpp>
#include <gradual/autodiff/ops/erfcx.hpp>
#include <gradual/autodiff/ops/exp.hpp>
#include <gradual/autodiff/ops/expm1.hpp>
#include <gradual/autodiff/ops/flip.hpp>
#include <gradual/autodiff/ops/floor.hpp>
#include <gradual/autodiff/ops/flush_subnormal.hpp>
#include <gradual/autodiff/ops/from_integer.hpp>
#include <gradual/autodiff/ops/gather.hpp>
#include <gradual/autodiff/ops/gelu.hpp>
#include <gradual/autodiff/ops/input.hpp>
#include <gradual/autodiff/ops/iota.hpp>
#include <gradual/autodiff/ops/leaky_relu.hpp>
#include <gradual/autodiff/ops/less.hpp>
#include <gradual/autodiff/ops/less_equal.hpp>
#include <gradual/autodiff/ops/lgamma.hpp>
#include <gradual/autodiff/ops/log.hpp>
#include <gradual/autodiff/ops/log1p.hpp>
#include <gradual/autodiff/ops/log_ndtr.hpp>
#include <gradual/autodiff/ops/log_rising.hpp>
#include <gradual/autodiff/ops/losses.hpp>
#include <gradual/autodiff/ops/lookup.hpp>
#include <gradual/autodiff/ops/matmul.hpp>
#include <gradual/autodiff/ops/max.hpp>
#include <gradual/autodiff/ops/max_pool1d.hpp>
#include <gradual/autodiff/ops/max_pool2d.hpp>
#include <gradual/autodiff/ops/maximum.hpp>
#include <gradual/autodiff/ops/min.hpp>
#include <gradual/autodiff/ops/minimum.hpp>
#include <gradual/autodiff/ops/multiply.hpp>
#include <gradual/autodiff/ops/negate.hpp>
#include <gradual/autodiff/ops/normal_noise.hpp>
#include <gradual/autodiff/ops/one_hot.hpp>
#include <gradual/autodiff/ops/pad.hpp>
#include <gradual/autodiff/ops/pick.hpp>
#include <gradual/autodiff/ops/pow.hpp>
#include <gradual/autodiff/ops/prod.hpp>
#include <gradual/autodiff/ops/quotient.hpp>
#include <gradual/autodiff/ops/relu.hpp>
#include <gradual/autodiff/ops/reshape.hpp>
#include <gradual/autodiff/ops/round.hpp>
#include <gradual/autodiff/ops/scatter_add.hpp>
#include <gradual/autodiff/ops/sigmoid.hpp>
#include <gradual/autodiff/ops/sign.hpp>
#include <gradual/autodiff/ops/silu.hpp>
#include <gradual/autodiff/ops/sin.hpp>
#include <gradual/autodiff/ops/slice.hpp>
#include <gradual/autodiff/ops/softmax.hpp>
#include <gradual/autodiff/ops/softplus.hpp>
#include <gradual/autodiff/ops/sqrt.hpp>
#include <gradual/autodiff/ops/statistics.hpp>
#include <gradual/autodiff/ops/stop_gradient.hpp>
#include <gradual/autodiff/ops/strong_divide.hpp>
#include <gradual/autodiff/ops/strong_mul.hpp>
#include <gradual/autodiff/ops/subtract.hpp>
#include <gradual/autodiff/ops/sum.hpp>
#include <gradual/autodiff/ops/tanh.hpp>
#include <gradual/autodiff/ops/transpose.hpp>
#include <gradual/autodiff/ops/uniform_noise.hpp>
#include <gradual/autodiff/ops/uses.hpp>
#include <gradual/autodiff/ops/where.hpp>
#include <gradual/autodiff/ops/with_index.hpp>
#include <gradual/autodiff/ops/xlogy.hpp>

namespace gradual {

/// Ops with a scalar functor, which fused kernels call.
using MapOps = OpList<Abs, Add, Atan2, Clamp, Convert, Cos, Digamma, Divide, Elu, Equal, Erf, Erfcx, Exp, Expm1, Floor,
                      FlushSubnormal, FromInteger, Gelu, LeakyRelu, Less, LessEqual, Lgamma, Log, Log1p, Maximum, Minimum,
                      Multiply, Negate, Pow, Quotient, Relu, Round, Sigmoid, Sign, Silu, Sin, Softplus, Sqrt, StopGradient,
                      StrongDivide, StrongMul, Subtract, Tanh, Where, Xlogy>;

/// Reductions within one sample.
using RowOps = OpList<Sum, Prod, Max, Min, ArgMax>;

/// Products, convolutions, tables, shapes, inputs and other sources of values.
using StructuralOps =
    OpList<BatchConv2d, BatchMatmul, BatchScatter, BatchSum, Broadcast, Constant, Conv2d, DropoutMask, Gather, GatherOwn, Input,
           Iota, Matmul, MaxPool2d, MaxPool2dGather, MaxPool2dSpread, NormalNoise, Pad, Reshape, ScatterAdd, Slice, Transpose,
           UniformNoise, Uses>;

/// Every op of the library.
using EveryOp = Joined<Joined<MapOps, RowOps>, StructuralOps>;

/// The ops that loop kernels may call for a model or rule T: the library's and T's own.
template <class T>
using OpsFor = Joined<Joined<MapOps, RowOps>, typename OwnOpsOf<T>::type>;

}  // namespace gradual
