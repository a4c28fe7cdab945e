// Update rules that no other test runs on a GPU, more of them on its host twin: the bits of the processor, whatever the
// split of a window.
#include <gradual/cuda.hpp>

#include "../rules.hpp"
#include "cuda_test.hpp"

namespace every_rule_test {

using namespace models;

/// A matrix and a vector: every further parameter adds to the compile time of each rule.
struct Small {
  nn::Linear layer;
  constexpr explicit Small(Scope s) : layer(s / "layer", 2, 3) {}
  constexpr Loss loss(Var x, Var y) const { return Loss(square(sum(tanh(layer(x)), {1}) - y)); }
};
using Net = Compiled<Small, Inputs<f32[2], f32>, Cuda>;

/// A rule with noisy steps.
struct Noisy {
  Scalar learning_rate = 0.1;
  constexpr auto operator()(Var p, Var g, NoState state) const {
    return update(p - learning_rate * (g + normal_like(p)), state);
  }
};

template <class... Rule>
struct OfEach {
  /// Trains with each rule, eagerly on the processor and in two splits on the device.
  static void expect_equal_bits() {
    const auto x = numbers(window * 2), y = numbers(window, 2);
    const auto compare = [&]<class R>(const R& rule) {
      SCOPED_TRACE(typeid(rule).name());
      Eager<Net, Accumulate<R>> cpu(Accumulate{rule}, {.global_batch = window, .seed = 3});
      for (int i = 0; i < 3; ++i) cpu.accumulate(window, x, y);
      for (const std::int64_t split : {41, 128}) {
        Session cuda(Net{}, Accumulate{rule}, {.global_batch = window, .micro_batch = split, .seed = 3});
        for (int i = 0; i < 3; ++i) cuda.accumulate(x, y);
        EXPECT_EQ(cuda.step_count(), 3);
        models::expect_equal_bits(cuda, cpu);
      }
    };
    (compare(with_all_numbers<Rule>()), ...);
  }
};

#if defined(GRADUAL_CUDA_TWIN)
using Rules = RuleList<AmsGrad, NAdam, RAdam, Adamax, RmsProp, Adagrad, Adadelta, Lars, Shampoo, Lbfgs, Noisy>;
#else
using Rules = RuleList<Lars, Shampoo, Noisy>;  // with norms, with products, with draws: all of them take nvcc a minute
#endif

class CudaRules : public CudaTest {};
TEST_P(CudaRules, HaveTheBitsOfTheProcessor) { Rules::to<OfEach>::expect_equal_bits(); }
INSTANTIATE_TEST_SUITE_P(Turns, CudaRules, turns, name_of_turns);

}  // namespace every_rule_test
