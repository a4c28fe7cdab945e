// Eager tensors on the GPU, or on its host twin, against eager ones on the processor: equal bits.
#include <gradual/check/test_op.hpp>
#include <gradual/cuda.hpp>
#include <sstream>

#include "cuda_test.hpp"

namespace eager_test {

using namespace models;

/// Runs what the sweep of derivatives records on both devices, in double and in float, instead of comparing
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
        executor->bind_input(tape.inputs[i].dtype == DType::i32 ? static_cast<const void*>(labels[i].data())
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
  else if constexpr (gradual::op_checks::differentiable<Op> && requires { Op::domain; })
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
  for (const char* name : {Op::name...}) EXPECT_TRUE(sweep.ops.contains(name)) << name;
}

constexpr auto optimizer =
    Accumulate{LossScale{Adam{.learning_rate = 0.01f}}};  // one for all: each costs seconds of compiling

/// A model with parameters of its own on a device, and its session.
template <class Model, class Optimizer, class Real = float>
struct Training {
  ParametersIn<Real> parameters;
  Model net{parameters.root()};
  Session<ParametersIn<Real>, Optimizer, Inputs<>> session;
  Training(const Device& device, const Optimizer& by, const SessionOptions& options)
      : parameters(device), session(parameters, by, options) {}
};

template <class A, class B>
void expect_same(const A& a, const B& b) {
  EXPECT_EQ(differing_bits(a.parameter_bytes(), b.parameter_bytes()), 0);
  EXPECT_EQ(differing_bits(std::as_bytes(a.optimizer_state(0)), std::as_bytes(b.optimizer_state(0))), 0);
  EXPECT_EQ(a.last_window().loss(), b.last_window().loss());
  EXPECT_EQ(a.step_count(), b.step_count());
}

/// A window on both, the GPU's cut into parts; `record(net, tape)` gives the loss of samples.
template <class Model, class Real = float, class Record>
void expect_equal_bits(Record record) {
  Training<Model, decltype(optimizer), Real> cpu(Device::cpu(), optimizer, {.global_batch = window, .seed = 3}),
      gpu(Device::cuda(0), optimizer, {.global_batch = window, .micro_batch = 41, .seed = 3});
  for (auto* training : {&cpu, &gpu})
    training->session.accumulate(window, [&](EagerTape& tape) { return record(training->net, tape); });
  EXPECT_EQ(gpu.session.step_count(), 1);
  expect_same(cpu.session, gpu.session);
}

class CudaEager : public CudaTest {};

TEST_P(CudaEager, EveryOp) {
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
TEST_P(CudaEager, RowsThatABlockOfThreadsTakes) {
  expect_equal_long_rows<float>();
  expect_equal_long_rows<double>();
}

TEST_P(CudaEager, EverySumOverSamples) {
  const auto image = numbers(window * 16);
  const auto token = labels(window, 7), label = labels(window, 3);
  expect_equal_bits<Sums>([&](const Sums& net, EagerTape& tape) {
    return net.loss(tape.input(image, {1, 4, 4}), tape.input(token), tape.input(label));
  });
}

TEST_P(CudaEager, Doubles) {
  const auto image = numbers_in<double>(window * 16);
  const auto token = labels(window, 7), label = labels(window, 3);
  expect_equal_bits<Sums, double>([&](const Sums& net, EagerTape& tape) {
    return net.loss(tape.input(image, {1, 4, 4}), tape.input(token), tape.input(label));
  });
}

TEST_P(CudaEager, LayersThatAreUsedSeveralTimes) {
  const auto x = numbers(window * 108), y = numbers(window * 2, 2);
  expect_equal_bits<Shared>([&](const Shared& net, EagerTape& tape) {
    return net.loss(tape.input(x, {3, 36}), tape.input(y, {2}));
  });
}

TEST_P(CudaEager, GoesOnElsewhereInsideAWindow) {
  const auto x = numbers(window * 9);
  const auto y = labels(window, 5);
  const SessionOptions options{.global_batch = window, .seed = 3, .freeze = {"output/bias"}};
  using Net = Training<Dropped, decltype(optimizer)>;
  const auto accumulate = [&](Net& net, std::int64_t first, std::int64_t count) {
    net.session.accumulate(count, [&](EagerTape& tape) {
      return net.net.loss(tape.input(std::span(x).subspan(first * 9, count * 9), {9}),
                          tape.input(std::span(y).subspan(first, count)));
    });
  };
  Net whole(Device::cpu(), optimizer, options), begun(Device::cuda(0), optimizer, options);
  for (int i = 0; i < 2; ++i) accumulate(whole, 0, window);
  accumulate(begun, 0, window);
  accumulate(begun, 0, 41);
  const Checkpoint state = begun.session.state();
  Net on_gpu(Device::cuda(gradual::cuda::device_count() - 1), optimizer, options),
      on_cpu(Device::cpu(), optimizer, options);
  for (Net* net : {&on_gpu, &on_cpu}) {
    net->session.restore(state);
    accumulate(*net, 41, window - 41);
    expect_same(whole.session, net->session);
  }
}

TEST_P(CudaEager, DropsWhatIsNotFiniteAndHalvesTheScale) {
  auto x = numbers(24 * 2);
  for (float& v : x) v = v * v + 0.1f;
  x[21] = 0;  // in the second micro-batch of the second window
  for (const NonFinite policy : {NonFinite::drop_window, NonFinite::drop_micro_batch}) {
    const SessionOptions options{.global_batch = 8, .micro_batch = 3, .non_finite = policy, .noise_batch = 4};
    Training<SquareRoot, decltype(optimizer)> cpu(Device::cpu(), optimizer, options),
        gpu(Device::cuda(0), optimizer, options);
    for (auto* training : {&cpu, &gpu})
      training->session.accumulate(24, [&](EagerTape& tape) { return training->net.loss(tape.input(x, {2})); });
    expect_same(cpu.session, gpu.session);
    EXPECT_EQ(gpu.session.dropped_windows() + gpu.session.dropped_micro_batches(), 1);
    EXPECT_EQ(gpu.session.loss_scale(), 32768);
    EXPECT_EQ(gpu.session.gradient_noise().windows, 1);
    EXPECT_EQ(gpu.session.gradient_noise().variance, cpu.session.gradient_noise().variance);
  }
}

#if defined(GRADUAL_CUDA_TWIN)
/// Two sums over the samples: one may have been added to when the other fails.
struct TwoSums {
  Parameter weight, bias;
  explicit TwoSums(Scope s)
      : weight(s.parameter("weight", Shape{2}, init::constant(0.5))), bias(s.parameter("bias", Shape{}, init::constant(0.5))) {}
  Loss loss(Var x) const { return Loss(sum(sqrt(x * weight.on(x)), {-1}) * bias.on(x)); }
};

TEST_P(CudaEager, GoesOnAfterAFailedLaunch) {
  constexpr std::int64_t samples = 132, most = 129;  // a part closes a block and leaves one open
  auto x = numbers(samples * 2);
  for (float& v : x) v = v * v + 0.1f;
  for (const NonFinite policy : {NonFinite::drop_window, NonFinite::drop_micro_batch}) {
    const SessionOptions options{.global_batch = samples, .micro_batch = most, .non_finite = policy};
    Training<TwoSums, decltype(optimizer)> cpu(Device::cpu(), optimizer, options);
    cpu.session.accumulate(samples, [&](EagerTape& tape) { return cpu.net.loss(tape.input(x, {2})); });
    int failed = 0, lost = 0;
    for (int launches = 0; failed == launches; ++launches) {
      Training<TwoSums, decltype(optimizer)> gpu(Device::cuda(0), optimizer, options);
      gradual::cuda::twin_fails_after = launches;
      while (gpu.session.step_count() == 0) {
        const std::int64_t at = gpu.session.position(), count = std::min(most, samples - at);
        try {
          if (count == 0)
            gpu.session.flush();
          else
            gpu.session.accumulate(count, [&](EagerTape& tape) {
              return gpu.net.loss(tape.input(std::span(x).subspan(at * 2, count * 2), {2}));
            });
        } catch (const DeviceError&) {
          ++failed;
          lost += gpu.session.position() < at;
        }
      }
      expect_same(cpu.session, gpu.session);
    }
    gradual::cuda::twin_fails_after = -1;
    EXPECT_GT(failed, 30);
    EXPECT_EQ(lost > 0, policy == NonFinite::drop_window);
  }
}
#endif

/// Plain descent, in no way that a kernel could run.
struct Descent {
  void step(std::span<const ParameterView> parameters, std::span<const GradientView> gradients) {
    for (std::size_t p = 0; p < parameters.size(); ++p)
      for (std::size_t i = 0; i < parameters[p].values.size(); ++i)
        parameters[p].values[i] -= 0.125f * gradients[p].values[i];
  }
};

TEST_P(CudaEager, TrainersKeyWhatIsDroppedByTheDataSet) {
  const std::vector<float> x = numbers(40 * 9);
  const std::vector<std::int32_t> y = labels(40, 5);
  const Dataset data(x, y);
  std::vector<float> learned[2];
  for (const bool on_gpu : {false, true}) {
    Parameters parameters(on_gpu ? Device::cuda(0) : Device::cpu());
    const Dropped net(parameters.root());
    const EagerNet eager(parameters, [&](EagerTape& tape, std::span<const float> in, std::span<const std::int32_t> of) {
      const Var values = tape.input(in, {9}), label = tape.input(of);
      return net.loss(values, label);
    });
    Trainer trainer(eager, optimizer, {.global_batch = 16, .micro_batch = 7, .seed = 3});
    trainer.fit(data, {.epochs = 2});
    learned[on_gpu].resize(static_cast<std::size_t>(parameters.offsets().back()));
    parameters.copy_to(learned[on_gpu]);
  }
  EXPECT_EQ(learned[0], learned[1]);
}

TEST_P(CudaEager, OpaqueOptimizerOnTheHost) {
  const auto x = numbers(16);
  const SessionOptions options{.global_batch = 8, .freeze = {}};
  Training<SquareRoot, Accumulate<Descent>> cpu(Device::cpu(), Accumulate{Descent{}}, options),
      gpu(Device::cuda(0), Accumulate{Descent{}}, options);
  for (auto* training : {&cpu, &gpu})
    training->session.accumulate(8, [&](EagerTape& tape) { return training->net.loss(square(tape.input(x, {2}))); });
  EXPECT_EQ(gpu.session.step_count(), 1);
  expect_same(cpu.session, gpu.session);
}

std::vector<std::byte> trained(const Device& device) {
  const auto x = numbers(window * 9);
  const auto y = labels(window, 5);
  Training<Classifier, decltype(optimizer)> training(device, optimizer, {.global_batch = window, .seed = 3});
  training.session.accumulate(window,
                              [&](EagerTape& tape) { return training.net.loss(tape.input(x, {9}), tape.input(y)); });
  EXPECT_GT(device.live_bytes(Category::parameters), 0);
  const auto bytes = training.session.parameter_bytes();
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

TEST_P(CudaEager, SmallerPartsWhereMemoryEnds) {
  const Device large = Device::cuda(0);
  const auto expected = trained(large);
  EXPECT_EQ(large.live_bytes(), 0);
  const Device small = Device::cuda(0, large.reserved_bytes() / 2);
  EXPECT_EQ(differing_bits(expected, trained(small)), 0);
  EXPECT_LE(small.reserved_bytes(), large.reserved_bytes() / 2);
  EXPECT_THROW(trained(Device::cuda(0, 4096)), MemoryError);
  large.trim();
  EXPECT_EQ(large.reserved_bytes(), 0);
}

#if defined(GRADUAL_CUDA_TWIN)
TEST_P(CudaEager, ADeviceThatIsFullOrRefusesAnyPiece) {
  std::int64_t needed = 0;
  const std::int64_t before = cuda::Memory::held(), all = cuda::twin_memory;
  const auto expected = [&] {
    const Device device = Device::cuda(0);
    const auto bytes = trained(device);
    needed = device.reserved_bytes();
    return bytes;
  }();
  cuda::twin_memory = before + needed / 2;
  EXPECT_EQ(differing_bits(expected, trained(Device::cuda(0))), 0);
  cuda::twin_memory = before + 4096;
  EXPECT_THROW(trained(Device::cuda(0)), MemoryError);
  cuda::twin_memory = all;
  int refused = 0;
  for (int n = 0;; ++n) {
    cuda::twin_refuses_after = n;
    try {
      EXPECT_EQ(differing_bits(expected, trained(Device::cuda(0))), 0) << n;
    } catch (const MemoryError&) {
      ++refused;
    }
    EXPECT_EQ(cuda::Memory::held(), before) << n;
    if (std::exchange(cuda::twin_refuses_after, -1) >= 0) break;
  }
  EXPECT_GT(refused, 5);
}
#endif

TEST_P(CudaEager, ValuesAreFetched) {
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

/// An op that no device is told of.
struct Cubed {
  static constexpr const char* name = "cubed";
  static constexpr int arity = 1;
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

TEST_P(CudaEager, RefusesWhatIsElsewhereOrUnknown) {
  const Device gpu = Device::cuda(0), cpu = Device::cpu();
  expect_error<DeviceError>([] { Device::cuda(99); }, "Device::cuda(99)");
  expect_error<DeviceError>([] { Device::cuda(-1); }, "Device::cuda(-1)");
  const Tensor here = Tensor::from<float>(gpu, {1, 2}, {2}), there = here.to(cpu), aside = here.to(Device::cuda(0));
  EagerTape tape(gpu, 2), on_cpu(cpu);
  expect_error<DeviceError>([&] { tape.input(there); }, "a tensor on cpu, and the tape is on cuda:0");
  expect_error<DeviceError>([&] { on_cpu.input(here); }, "a tensor on cuda:0, and the tape is on cpu");
  expect_error<DeviceError>([&] { tape.input(aside); }, "another cuda:0");
  expect_error<DeviceError>([&] { here.values<float>(); }, "cuda:0");

  const Var x = tape.input(here);
  expect_error<DeviceError>([&] { elementwise<Cubed>(x); }, "cubed: has no kernel on cuda:0");
  expect_error<TypeError>([&] { convert(x, DType::bf16); }, "convert: eager values of 16 bits are not computed on a GPU");
  EXPECT_EQ(value(x + x)[1], 4);  // the tape is as it was
  const Device knows = Device::cuda<OpList<Cubed>>(0);
  EagerTape other(knows);
  EXPECT_EQ(value(elementwise<Cubed>(other.input(here.to(knows))))[1], 8);

  const Var table = tape.input(Tensor::from<float>(gpu, {1, 2, 3, 4}, {2, 2}));
  const std::int32_t outside[] = {1, 2};
  expect_error<DataError>([&] { gather(table, tape.input(outside)); }, "index 2 at position 1");
  const float four[] = {1, 2, 3, 4};
  const Var scores = tape.input(four, {2});
  expect_error<DataError>([&] { cross_entropy(scores, tape.input(outside)); }, "label 2 at position 1");

  Parameters parameters(gpu);
  const Classifier net(parameters.root());
  expect_error<OptionError>([&] { Session(parameters, optimizer, {.global_batch = 2, .threads = 2}); },
                            "2 threads on cuda:0");
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

INSTANTIATE_TEST_SUITE_P(Turns, CudaEager, turns, name_of_turns);

}  // namespace eager_test
