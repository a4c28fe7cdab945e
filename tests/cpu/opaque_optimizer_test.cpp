// Optimizers that are not rules: classes with `step(parameters, gradients)`, wrapped by Accumulate as they are.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "../models.hpp"

namespace opaque_optimizer_test {

using namespace models;

const auto x = numbers(640 * 9);
const auto y = labels(640, 5);

// Shown in docs/guides/wrap-an-optimizer.md.
class AnyOptimizer {
 public:
  virtual ~AnyOptimizer() = default;
  virtual void step(std::span<const ParameterView> parameters, std::span<const GradientView> gradients) = 0;
};

class Momentum : public AnyOptimizer {
 public:
  Momentum(float rate, float momentum) : rate_(rate), momentum_(momentum) {}

  void step(std::span<const ParameterView> parameters, std::span<const GradientView> gradients) override {
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      std::vector<float>& velocity = velocity_[std::string(parameters[p].name)];
      velocity.resize(parameters[p].values.size());
      for (std::size_t i = 0; i < velocity.size(); ++i) {
        velocity[i] = momentum_ * velocity[i] + gradients[p].values[i];
        parameters[p].values[i] -= rate_ * velocity[i];
      }
    }
  }

  const std::map<std::string, std::vector<float>>& velocity() const { return velocity_; }

 protected:
  float rate_, momentum_;
  std::map<std::string, std::vector<float>> velocity_;  // by the parameter's name
};

constexpr Sgd rule{.learning_rate = 0.05f, .momentum = 0.9f};
const Momentum opaque(0.05f, 0.9f);

/// Returns a session after ten windows of 64 samples.
template <class Optimizer>
auto trained(const Optimizer& optimizer, std::int64_t micro_batch, std::vector<std::string> freeze = {}) {
  Session session(ClassifierNet{}, Accumulate{optimizer},
                  {.global_batch = 64, .micro_batch = micro_batch, .seed = 3, .freeze = std::move(freeze)});
  EXPECT_EQ(session.accumulate(x, y), 10);
  return session;
}

TEST(OpaqueOptimizer, HasTheBitsOfTheSameRule) {
  const auto by_rule = trained(rule, 64);
  for (const std::int64_t micro_batch : {64, 7, 1}) {
    auto session = trained(opaque, micro_batch);
    EXPECT_EQ(differing_bits(session.parameter_bytes(), by_rule.parameter_bytes()), 0) << micro_batch;
    ASSERT_EQ(session.optimizer().velocity().size(), 4u);
    const auto velocity = std::as_bytes(std::span(session.optimizer().velocity().at("hidden/weight")));
    const auto expected = by_rule.optimizer_state_bytes();
    ASSERT_EQ(session.parameters()[0].name, "hidden/weight");
    EXPECT_EQ(differing_bits(velocity, std::span(expected).first(velocity.size())), 0);
  }
}

/// Keeps what it is given and changes nothing.
struct Recorder {
  struct Call {
    std::vector<std::string> names;
    std::vector<Shape> shapes;
    std::vector<float> values, gradient;
    const float *first_value, *first_gradient;
  };
  std::vector<Call> calls;
  void step(std::span<const ParameterView> parameters, std::span<const GradientView> gradients) {
    Call call;
    ASSERT_EQ(parameters.size(), gradients.size());
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      EXPECT_EQ(parameters[p].name, gradients[p].name);
      EXPECT_TRUE(parameters[p].shape == gradients[p].shape);
      call.names.emplace_back(parameters[p].name);
      call.shapes.push_back(parameters[p].shape);
      call.values.insert(call.values.end(), parameters[p].values.begin(), parameters[p].values.end());
      call.gradient.insert(call.gradient.end(), gradients[p].values.begin(), gradients[p].values.end());
    }
    call.first_value = parameters[0].values.data(), call.first_gradient = gradients[0].values.data();
    calls.push_back(std::move(call));
  }
};

TEST(OpaqueOptimizer, IsCalledOncePerWindowWithItsMean) {
  std::vector<float> first;
  for (const std::int64_t micro_batch : {64, 7, 1}) {
    Recorder recorder;
    Session session(ClassifierNet{}, Accumulate{std::ref(recorder)}, {.global_batch = 64, .micro_batch = micro_batch});
    for (std::size_t at = 0; at < 150; ++at) {
      session.accumulate(std::span(x).subspan(at * 9, 9), std::span(y).subspan(at, 1));
      EXPECT_EQ(recorder.calls.size(), (at + 1) / 64);
    }
    session.flush();
    ASSERT_EQ(recorder.calls.size(), 3u);
    for (const auto& call : recorder.calls) {
      EXPECT_EQ(call.first_value, session.parameters().values().data());
      EXPECT_EQ(call.first_gradient, recorder.calls[0].first_gradient);
    }
    const auto& last = recorder.calls.back();
    EXPECT_EQ(last.names, (std::vector<std::string>{"hidden/weight", "hidden/bias", "output/weight", "output/bias"}));
    EXPECT_TRUE(last.shapes[0] == (Shape{9, 17}));
    EXPECT_TRUE(std::ranges::equal(last.values, session.parameters().values()));
    ASSERT_EQ(last.gradient.size(), session.accumulator().size());
    for (std::size_t i = 0; i < last.gradient.size(); ++i)
      ASSERT_EQ(last.gradient[i], math::quotient(session.accumulator()[i], 22.0f));  // the rest of 150 samples
    if (first.empty()) first = last.gradient;
    EXPECT_EQ(last.gradient, first) << micro_batch;
  }
}

TEST(OpaqueOptimizer, MayBeReferredToByItsBase) {
  const std::unique_ptr<AnyOptimizer> any = std::make_unique<Momentum>(opaque);
  EXPECT_EQ(differing_bits(trained(std::ref(*any), 9).parameter_bytes(), trained(rule, 64).parameter_bytes()), 0);
  using Net = ClassifierNet;  // as the guide writes it
  Session session(Net{}, Accumulate{Momentum(0.05f, 0.9f)}, {.global_batch = 512, .micro_batch = 64});
  Session other(Net{}, Accumulate{std::ref(*any)}, {.global_batch = 512});
  EXPECT_EQ(session.options().micro_batch, 64);
  EXPECT_EQ(other.window(), 512);
}

TEST(OpaqueOptimizer, StepsOnWhatClippingMadeOfTheGradient) {
  const auto nest = [](const auto& inner) { return LossScale{ClipByGlobalNorm{ClipByValue{inner, 0.02}, 0.05}}; };
  EXPECT_EQ(differing_bits(trained(nest(opaque), 9).parameter_bytes(), trained(nest(rule), 64).parameter_bytes()), 0);
  EXPECT_NE(differing_bits(trained(nest(opaque), 9).parameter_bytes(), trained(rule, 64).parameter_bytes()), 0);
}

/// An adapter without numbers.
template <class Inner>
struct HalveGradient {
  Inner inner;
  using State = StateOf<Inner>;
  constexpr auto operator()(Var parameter, Var gradient, State state, Var step) const {
    return apply_rule(inner, parameter, 0.5 * gradient, state, step);
  }
};
template <class Inner>
HalveGradient(Inner) -> HalveGradient<Inner>;

TEST(OpaqueOptimizer, StepsOnWhatAnAdapterOfOnesOwnMadeOfTheGradient) {
  const auto nest = [](const auto& inner) { return ClipByValue{HalveGradient{inner}, 0.02}; };
  EXPECT_EQ(differing_bits(trained(nest(opaque), 9).parameter_bytes(), trained(nest(rule), 64).parameter_bytes()), 0);
  EXPECT_NE(differing_bits(trained(nest(opaque), 9).parameter_bytes(), trained(rule, 64).parameter_bytes()), 0);
}

TEST(OpaqueOptimizer, DoesNotSeeWhatIsFrozen) {
  auto session = trained(opaque, 64, {"hidden/*"});
  EXPECT_EQ(session.optimizer().velocity().size(), 2u);
  EXPECT_TRUE(session.optimizer().velocity().contains("output/weight"));
  EXPECT_EQ(differing_bits(session.parameter_bytes(), trained(rule, 64, {"hidden/*"}).parameter_bytes()), 0);
}

static_assert(ClassifierNet::training_memory(OpaqueRule{}, 7).optimizer_state ==
              ClassifierNet::training_memory(Sgd{}, 7).parameters);
static_assert(WithinBudget<ClassifierNet, Accumulate<Momentum>, 64, 1_MiB>::kept == 100);

TEST(OpaqueOptimizer, CostsTheSessionOneMoreArray) {
  auto session = trained(opaque, 7);
  EXPECT_EQ(session.memory().optimizer_state, session.memory().parameters);
  EXPECT_EQ(session.memory().total(), session.allocated_bytes());
  EXPECT_EQ(ClassifierNet::training_memory(Accumulate{opaque}, 7).optimizer_state, session.memory().optimizer_state);
}

TEST(OpaqueOptimizer, IsNotCalledForWindowsThatAreDropped) {
  Recorder recorder;
  Session session(ClassifierNet{}, Accumulate{std::ref(recorder), 2}, {.global_batch = 64});
  auto endless = session.parameters()["output/bias"].values;
  const float before = endless[0];
  endless[0] = std::numeric_limits<float>::infinity();
  for (int call = 0; call < 4; ++call) {
    if (call == 2) endless[0] = before;
    session.accumulate(std::span(x).first(9 * 9), std::span(y).first(9));
  }
  EXPECT_EQ(session.dropped_windows(), 1);
  EXPECT_EQ(recorder.calls.size(), 1u);  // a window is two calls
}

/// Refuses its second step.
struct Refusing : Momentum {
  Refusing() : Momentum(opaque) {}
  int calls = 0;
  void step(std::span<const ParameterView> parameters, std::span<const GradientView> gradients) {
    if (++calls == 2) throw std::runtime_error("not now");
    Momentum::step(parameters, gradients);
  }
};

TEST(OpaqueOptimizer, MayThrowWhichForgetsTheWindow) {
  Session with(ClassifierNet{}, Accumulate{Refusing{}}, {.global_batch = 64});
  Session without(ClassifierNet{}, Accumulate{opaque}, {.global_batch = 64});
  for (int window = 0; window < 3; ++window) {
    const auto rows = std::span(x).subspan(static_cast<std::size_t>(window) * 64 * 9, 64 * 9);
    const auto classes = std::span(y).subspan(static_cast<std::size_t>(window) * 64, 64);
    if (window == 1) {
      EXPECT_THROW(with.accumulate(rows, classes), std::runtime_error);
      EXPECT_EQ(with.position(), 0);
    } else {
      EXPECT_EQ(with.accumulate(rows, classes), 1);
      EXPECT_EQ(without.accumulate(rows, classes), 1);
    }
    EXPECT_EQ(with.step_count(), without.step_count());
    EXPECT_EQ(differing_bits(with.parameter_bytes(), without.parameter_bytes()), 0);
  }
}

/// Can be saved with the session.
struct Saved : Momentum {
  Saved() : Momentum(opaque) {}
  Checkpoint state() const {
    Checkpoint file;
    for (const auto& [name, values] : velocity_) file.add(name, {{static_cast<std::int64_t>(values.size())}, values});
    file.notes["momentum"] = std::to_string(momentum_);
    return file;
  }
  void restore(const Checkpoint& file) {
    if (file.note("momentum") != std::to_string(momentum_)) throw FileError("another momentum");
    velocity_.clear();
    for (const auto& [name, tensor] : file.tensors) velocity_[name] = tensor.values;
  }
};

TEST(OpaqueOptimizer, IsSavedAndRestoredWithTheSession) {
  const auto expected = trained(rule, 64);
  const SessionOptions options{.global_batch = 64, .micro_batch = 13, .seed = 3};
  for (const std::size_t cut : {64, 100, 600}) {
    Session first(ClassifierNet{}, Accumulate{Saved{}}, options);
    first.accumulate(std::span(x).first(cut * 9), std::span(y).first(cut));
    const Checkpoint state = first.state();
    EXPECT_TRUE(state.tensors.contains("opaque/hidden/weight"));
    EXPECT_FALSE(state.tensors.contains("optimizer/0/hidden/weight"));
    Saved optimizer;
    Session second(ClassifierNet{}, Accumulate{std::ref(optimizer)}, options);
    EXPECT_THROW(second.restore(state), FileError);  // one by reference is another type
    Session third(ClassifierNet{}, Accumulate{Saved{}}, options);
    Checkpoint other = state;
    other.notes["opaque/momentum"] = "0.5";
    const std::vector<float> before(third.parameters().values().begin(), third.parameters().values().end());
    EXPECT_THROW(third.restore(other), FileError);
    EXPECT_TRUE(std::ranges::equal(third.parameters().values(), before));
    EXPECT_EQ(third.step_count(), 0);
    third.restore(state);
    third.accumulate(std::span(x).subspan(cut * 9), std::span(y).subspan(cut));
    EXPECT_EQ(third.step_count(), 10);
    EXPECT_EQ(differing_bits(third.parameter_bytes(), expected.parameter_bytes()), 0) << cut;
  }
}

TEST(OpaqueOptimizer, TrainsEagerNetsToTheSameBits) {
  Parameters parameters(Device::cpu());
  const Classifier net(parameters.root());
  Session session(parameters, Accumulate{opaque}, {.global_batch = 64, .micro_batch = 33, .seed = 3});
  const int steps =
      session.accumulate(640, [&](EagerTape& tape) { return net.loss(tape.input(x, {9}), tape.input(y)); });
  EXPECT_EQ(steps, 10);
  EXPECT_EQ(session.optimizer().velocity().size(), 4u);
  EXPECT_THROW(session.optimizer_state(0), OptionError);  // it keeps its states itself
  const auto compiled = trained(rule, 64);
  EXPECT_EQ(differing_bits(session.parameter_bytes(), std::as_bytes(compiled.parameters().values())), 0);
}

TEST(OpaqueOptimizer, IsSavedWithAnEagerSessionInsideAWindow) {
  std::optional<Checkpoint> state;
  const auto run = [&](std::size_t first, std::size_t count) {
    Parameters parameters(Device::cpu());
    const Classifier net(parameters.root());
    Session session(parameters, Accumulate{Saved{}}, {.global_batch = 64, .seed = 3});
    if (state) session.restore(*state);
    session.accumulate(static_cast<std::int64_t>(count), [&](EagerTape& tape) {
      return net.loss(tape.input(std::span(x).subspan(first * 9, count * 9), {9}),
                      tape.input(std::span(y).subspan(first, count)));
    });
    state = session.state();
    return std::vector<std::byte>(session.parameter_bytes().begin(), session.parameter_bytes().end());
  };
  run(0, 100);
  EXPECT_TRUE(state->tensors.contains("opaque/hidden/weight"));
  EXPECT_EQ(differing_bits(run(100, 540), std::as_bytes(trained(rule, 64).parameters().values())), 0);
}

TEST(OpaqueOptimizer, IsAskedAgainByAnEagerSession) {
  Parameters parameters(Device::cpu());
  const Classifier net(parameters.root());
  Session session(parameters, Accumulate{Refusing{}}, {.global_batch = 64, .seed = 3});
  std::size_t first = 0;
  const auto record = [&](EagerTape& tape) {
    return net.loss(tape.input(std::span(x).subspan(first * 9, 64 * 9), {9}),
                    tape.input(std::span(y).subspan(first, 64)));
  };
  EXPECT_EQ(session.accumulate(64, record), 1);
  first = 64;
  EXPECT_THROW(session.accumulate(64, record), std::runtime_error);
  EXPECT_EQ(session.step_count(), 1);
  first = 128;
  EXPECT_EQ(session.accumulate(64, record), 2);
  Session compiled(ClassifierNet{}, Accumulate{opaque}, {.global_batch = 64, .seed = 3});
  EXPECT_EQ(compiled.accumulate(std::span(x).first(192 * 9), std::span(y).first(192)), 3);
  EXPECT_EQ(differing_bits(session.parameter_bytes(), std::as_bytes(compiled.parameters().values())), 0);
}

TEST(OpaqueOptimizer, StandsInATrainer) {
  const auto fit = [](const auto& optimizer) {
    Trainer trainer(ClassifierNet{}, Accumulate{optimizer}, {.global_batch = 64, .micro_batch = 20, .seed = 5});
    trainer.fit(Dataset(x, y), {.epochs = 2, .progress = Progress::never});
    const auto bytes = trainer.session().parameter_bytes();
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  };
  EXPECT_EQ(differing_bits(fit(opaque), fit(rule)), 0);
}

}  // namespace opaque_optimizer_test
