// Ops and tensors on the GPU, or on its host twin, against those on the processor: equal bits.
#include <gradual/check/test_op.hpp>
#include <gradual/cuda.hpp>
#include <sstream>

#include "cuda_test.hpp"

namespace eager_ops_test {

using namespace models;

/// Runs the tapes of the sweep of derivatives on both devices, in double and in float, instead of comparing with
/// differences.
class SweepOnBoth : public gradual::op_checks::DerivativeCheck {
  void compare(const std::string& name, const Recorded& r, std::vector<Values> at, double) override {
    compare_values<double>(name, r.tape, at);
    const Tape tape = gradual::op_checks::in_float(r.tape, at).tape;
    const bool converts = std::ranges::any_of(tape.nodes, [](const Node& node) { return is<Convert>(node); });
    if (!converts) compare_values<float>(name, tape, at);
  }

  template <class T>
  void compare_values(const std::string& name, const Tape& tape, const std::vector<Values>& at) {
    std::vector<std::vector<T>> numbers;
    std::vector<std::vector<std::int32_t>> labels;
    for (const Values& values : at) {
      numbers.emplace_back(values.begin(), values.end());
      labels.emplace_back(values.begin(), values.end());
    }
    const auto expected = gradual::eager::executor_on<OpsFor<void>>(Device::cpu()),
               got = gradual::eager::executor_on<OpsFor<void>>(gpu);
    for (gradual::eager::Executor* executor : {expected.get(), got.get()}) {
      executor->reset(batch);
      executor->bind_random({true, 7, 0, nullptr, 5});
      executor->expect(tape.size());
      for (std::size_t i = 0; i < at.size(); ++i)
        executor->bindings().bind_input(tape.inputs[i].dtype == DType::i32 ? static_cast<const void*>(labels[i].data())
                                                                           : numbers[i].data());
      for (int id = 0; id < tape.size(); ++id) executor->run(tape, id);
    }
    for (int id = 0; id < tape.size(); ++id) {
      const Tensor a = expected->tensor(tape, id), b = got->tensor(tape, id).to(Device::cpu());
      for (std::int64_t i = 0; i < a.size(); ++i, ++checks) {
        const double x = a[i], y = b[i];
        if ((x != x && y != y) || std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y)) continue;
        mistakes.push_back(name + ", node " + std::to_string(id) + ", " + tape[id].op->name + "[" + std::to_string(i) +
                           "]");
        break;
      }
    }
  }

 public:
  Device gpu = Device::cuda(0);
};

template <class Op>
void sweep_one(gradual::op_checks::DerivativeCheck& sweep) {
  if constexpr (requires { Op::sweep(sweep); })
    Op::sweep(sweep);
  else if constexpr (gradual::detail::Differentiable<Op> && requires { Op::domain; })
    gradual::op_checks::sweep_op<Op>(sweep);
  else if constexpr (op_info<Op>.kind == Kind::map)  // has no derivative
    sweep.run(
        Op::name, [](auto in) { return in[0] * gradual::op_checks::apply_op<Op>(in); },
        gradual::op_checks::Operands(Op::arity, {7}));
}
template <class... Op>
void sweep_all(gradual::op_checks::DerivativeCheck& sweep, OpList<Op...>) {
  (sweep_one<Op>(sweep), ...);
  sweep.run("max with its index", [](auto in) { return square(max_with_index(in[0], 1).value); }, {{3, 40}});
  sweep.run("dropout", [](auto in) { return dropout(in[0], 0.5); }, {Shape::per_sample({40})});
  sweep.run("normal_like", [](auto in) { return in[0] * normal_like(in[0]); }, {Shape::per_sample({40})});
  sweep.run("uniform_like", [](auto in) { return in[0] * uniform_like(in[0]); }, {Shape::per_sample({40})});
  for (const char* name : {Op::name...}) EXPECT_TRUE(sweep.ops.contains(name)) << name;
}

class CudaEagerOps : public CudaTest {};

TEST_P(CudaEagerOps, EveryOp) {
  SweepOnBoth sweep;
  sweep_all(sweep, EveryOp{});
  for (const std::string& mistake : sweep.mistakes) ADD_FAILURE() << mistake;
  EXPECT_GT(sweep.checks, 100000);
}

template <class T>
void expect_equal_long_rows() {
  static_assert(cuda::are_few(3) && 5000 >= cuda::long_row);
  const std::vector<T> values = numbers_in<T>(3 * 5000);
  const auto reduced = [&](const Device& device) {
    EagerTape tape(device);
    const Var x = tape.input(Tensor::from<T>(device, values, {3, 5000}));
    const Tensor all = value(concat({sum(x, {1}), max(x, {1}), convert(argmax(x, 1), dtype_of<T>)}, 0));
    std::vector<T> result(static_cast<std::size_t>(all.size()));
    all.copy_to(std::span<T>(result));
    return result;
  };
  EXPECT_EQ(reduced(Device::cpu()), reduced(Device::cuda(0)));
}
TEST_P(CudaEagerOps, RowsThatABlockOfThreadsTakes) {
  expect_equal_long_rows<float>();
  expect_equal_long_rows<double>();
}

TEST_P(CudaEagerOps, ValuesAreFetched) {
  const Device gpu = Device::cuda(0);
  EagerTape tape(gpu);
  const Var x = tape.input(Tensor::from<float>(gpu, {1, 2, 3, 4}, {2, 2}));
  const Tensor y = value(matmul(x, x) + transpose(x, {1, 0}));
  EXPECT_EQ(y[1], 13);
  std::ostringstream text;
  text << y;
  EXPECT_NE(text.str().find("float[2, 2] on cuda:0"), std::string::npos) << text.str();
  EXPECT_NE(text.str().find("17"), std::string::npos) << text.str();
  float copied[4];
  y.copy_to(std::span<float>(copied));
  EXPECT_EQ(copied[3], 26);
  EXPECT_EQ(y.to(Device::cpu()).to(gpu).to(gpu)[2], 17);
  EXPECT_EQ(value(gradients(reduce_to(x * x, Shape{}), {x})[0])[3], 8);

  Parameters parameters(gpu);
  const Classifier net(parameters.root());
  parameters.initialize(1);
  std::vector<float> values(static_cast<std::size_t>(parameters.offsets().back()));
  parameters.copy_to(values);
  values[0] = 0.5f;
  parameters.copy_from(values);
  const auto first = numbers(9);
  EagerTape scores(parameters, 1);
  net.predict(scores.input(first, {9}));
  EXPECT_EQ(value(gradual::parameter(scores, 0))[0], 0.5);
}

/// An op that a device does not know unless it is told.
struct Cubed {
  static constexpr const char* name = "cubed";
  static constexpr int arity = 1;
  static constexpr bool differentiable = false;
  template <class T>
  GRADUAL_HD static constexpr T apply(T x) {
    return x * x * x;
  }
};

template <class Error, class F>
void expect_error(F f, const char* part) {
  try {
    f();
    ADD_FAILURE() << "no error with " << part;
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
}

TEST_P(CudaEagerOps, RefusesWhatIsElsewhereOrUnknown) {
  const Device gpu = Device::cuda(0), cpu = Device::cpu();
  expect_error<DeviceError>([] { Device::cuda(99); }, "Device::cuda(99)");
  expect_error<DeviceError>([] { Device::cuda(-1); }, "Device::cuda(-1)");
  const Tensor here = Tensor::from<float>(gpu, {1, 2}, {2}), there = here.to(cpu), aside = here.to(Device::cuda(0));
  EagerTape tape(gpu, 2), on_cpu(cpu);
  expect_error<DeviceError>([&] { tape.input(there); }, "a tensor on cpu, but the tape is on cuda:0");
  expect_error<DeviceError>([&] { on_cpu.input(here); }, "a tensor on cuda:0, but the tape is on cpu");
  expect_error<DeviceError>([&] { tape.input(aside); }, "another cuda:0");
  expect_error<DeviceError>([&] { here.values<float>(); }, "cuda:0");

  const Var x = tape.input(here);
  expect_error<DeviceError>([&] { elementwise<Cubed>(x); }, "cubed: has no kernel on cuda:0");
  expect_error<TypeError>([&] { convert(x, DType::bf16); }, "convert: eager values of 16 bits are not computed on a GPU");
  EXPECT_EQ(value(x + x)[1], 4);  // the tape is unchanged
  const Device knows = Device::cuda<OpList<Cubed>>(0);
  EagerTape other(knows);
  EXPECT_EQ(value(elementwise<Cubed>(other.input(here.to(knows))))[1], 8);

  const Var table = tape.input(Tensor::from<float>(gpu, {1, 2, 3, 4}, {2, 2}));
  const std::int32_t outside[] = {1, 2};
  expect_error<DataError>([&] { gather(table, tape.input(outside)); }, "index 2 at position 1");
  const std::int32_t columns[] = {9, 1, 9, 0};
  EXPECT_EQ(value(gather(table, select(tape.input(columns, {2}), 1, 1)))[0], 3);
  const float four[] = {1, 2, 3, 4};
  const Var scores = tape.input(four, {2});
  expect_error<DataError>([&] { cross_entropy(scores, tape.input(outside)); }, "label 2 at position 1");

  Parameters parameters(gpu);
  const Classifier net(parameters.root());
  parameters.initialize(1);
  expect_error<DeviceError>([&] { parameters["hidden/weight"]; }, "copy_to");
  std::vector<float> few(3);
  expect_error<ShapeError>([&] { parameters.copy_to(few); }, "3 values for 260");
#if defined(GRADUAL_CUDA_TWIN)
  if (cuda::twin_works_late) {  // as on a GPU
    EXPECT_DEATH(static_cast<void>(*static_cast<volatile float*>(parameters.data())), "");
  }
#endif
}

INSTANTIATE_TEST_SUITE_P(Turns, CudaEagerOps, turns, name_of_turns);

}  // namespace eager_ops_test
