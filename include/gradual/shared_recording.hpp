#pragma once
// The descriptions of ops, and the code that records and simplifies a tape: evaluated by the compiler, and called at run time
// by rules, whose numbers are found so, and by eager models. `gradual::kernels` contains this code, so that sources linked to
// it need not compile it.
#include <gradual/autodiff/ops.hpp>
#include <gradual/autodiff/plan.hpp>
#include <gradual/autodiff/simplify.hpp>
#include <gradual/autodiff/trace.hpp>

#ifndef GRADUAL_SHARED_RECORDER
#define GRADUAL_SHARED_RECORDER extern template
#endif

namespace gradual {

#define GRADUAL_EACH_OP(Op)                                                                                                   \
  Op(Abs) Op(Add) Op(ArgMax) Op(Atan2) Op(BatchConv2d) Op(BatchMatmul) Op(BatchScatter) Op(BatchSum) Op(Broadcast) Op(Clamp)  \
  Op(Constant) Op(Conv2d) Op(Convert) Op(Cos) Op(Digamma) Op(Divide) Op(DropoutMask) Op(Elu) Op(Equal) Op(Erf) Op(Erfcx)      \
  Op(Exp) Op(Expm1) Op(Floor) Op(FlushSubnormal) Op(FromInteger) Op(Gather) Op(GatherOwn) Op(Gelu) Op(Input) Op(Iota)         \
  Op(LeakyRelu) Op(Less) Op(LessEqual) Op(Lgamma) Op(Log) Op(Log1p) Op(Matmul) Op(Max) Op(MaxPool2d) Op(MaxPool2dGather)      \
  Op(MaxPool2dSpread) Op(Maximum) Op(Min) Op(Minimum) Op(Multiply) Op(Negate) Op(NormalNoise) Op(Pad) Op(Pow) Op(Prod)        \
  Op(Quotient) Op(Relu) Op(Reshape) Op(Round) Op(ScatterAdd) Op(Sigmoid) Op(Sign) Op(Silu) Op(Sin) Op(Slice) Op(Softplus)     \
  Op(Sqrt) Op(StopGradient) Op(StrongDivide) Op(StrongMul) Op(Subtract) Op(Sum) Op(Tanh) Op(Transpose) Op(UniformNoise)       \
  Op(Uses) Op(Where) Op(Xlogy)

#define GRADUAL_SHARED_OP(Op) GRADUAL_SHARED_RECORDER const OpInfo op_info<Op>;
#define GRADUAL_ONE_MORE(Op) +1
GRADUAL_EACH_OP(GRADUAL_SHARED_OP)
static_assert(EveryOp::size == GRADUAL_EACH_OP(GRADUAL_ONE_MORE), "each op stands here once");
#undef GRADUAL_EACH_OP
#undef GRADUAL_SHARED_OP
#undef GRADUAL_ONE_MORE

GRADUAL_SHARED_RECORDER Var detail::record_map<>(const OpInfo&, Var*, int);
GRADUAL_SHARED_RECORDER Var detail::reduce_axes<>(const OpInfo&, Var, const int*, int, bool, DType);
GRADUAL_SHARED_RECORDER Var Tape::record<>(const OpInfo&, const Var*, int, const Shape&, DType, const Attributes&);
GRADUAL_SHARED_RECORDER Message Tape::in_layer<>(const Var*, int) const;
GRADUAL_SHARED_RECORDER Var reshape<>(Var, const Shape&);
GRADUAL_SHARED_RECORDER Var matmul<>(Var, Var, bool, bool);
GRADUAL_SHARED_RECORDER void backward<>(Var, Var, BackwardSpace&);
GRADUAL_SHARED_RECORDER void record_loss<>(Tape&, const Loss&);
GRADUAL_SHARED_RECORDER void record_gradients<>(Tape&, const Loss&, BackwardSpace&, Var, std::span<const int>);
GRADUAL_SHARED_RECORDER Tape simplify<>(const Tape&);
GRADUAL_SHARED_RECORDER std::int64_t PlanTables::offsets<>(std::int64_t, std::int64_t*) const;
GRADUAL_SHARED_RECORDER double Scalar::at<>(std::int64_t) const;

}  // namespace gradual
