// A device that runs out of memory, at every allocation in turn: this ends in a MemoryError with the numbers or in a smaller
// micro-batch, nothing is leaked, and a second attempt gives the same bits.
#include <gradual/cuda.hpp>

#include "../error_of.hpp"
#include "cuda_test.hpp"

namespace full_device_test {

using namespace models;

class FullDevice : public CudaTest {};

TEST_P(FullDevice, MoreThanThereIsIsRefusedWithTheNumbers) {
  const std::int64_t before = cuda::Memory::held();
  const std::string text = error_of<MemoryError>([] { const cuda::Memory memory(std::int64_t{1} << 50); });
  EXPECT_TRUE(text.starts_with("out of device memory: 1125899906842624 bytes are needed, ")) << text;
  EXPECT_EQ(cuda::Memory::held(), before);
}

INSTANTIATE_TEST_SUITE_P(Turns, FullDevice, turns, name_of_turns);

#if defined(GRADUAL_CUDA_TWIN)

using Net = Compiled<Dropped, Inputs<f32[9], i32>, Cuda>;
constexpr auto optimizer = Accumulate{ClipByGlobalNorm{Adam{.learning_rate = 0.01f}}};
using Drops = Session<Net, Accumulate<ClipByGlobalNorm<Adam>>>;

class FullTwin : public CudaTest {
 protected:
  const std::vector<float> x = numbers(window * 9);
  const std::vector<std::int32_t> y = labels(window, 5);
  const SessionOptions whole{.global_batch = window, .seed = 3};
  const SessionOptions parts{.global_batch = window, .micro_batch = 41, .seed = 3};
  const std::int64_t all = cuda::twin_memory;
  ~FullTwin() override { leave_all(); }

  /// Leaves only these bytes of the device free, as if other programs held the rest.
  static void leave(std::int64_t bytes) { cuda::twin_memory = cuda::Memory::held() + bytes; }
  void leave_all() const { cuda::twin_memory = all; }
  static std::string refusal(std::int64_t bytes, std::int64_t free) {
    return "out of device memory: " + std::to_string(bytes) + " bytes are needed, " + std::to_string(free) + " of " +
           std::to_string(cuda::twin_memory) + " are free";
  }

  /// Calls f() and makes its n-th allocation fail. Returns whether it made that many.
  template <class F>
  static bool refused(int n, F f) {
    cuda::twin_refuses_after = n;
    f();
    return std::exchange(cuda::twin_refuses_after, -1) < 0;
  }
  /// Expects f(), for every n-th allocation refused, to end in a MemoryError and leak nothing. Returns the number of
  /// allocations.
  template <class F>
  static int refused_cleanly(F f) {
    for (int n = 0;; ++n) {
      const std::int64_t before = cuda::Memory::held();
      std::string text;
      if (!refused(n, [&] { text = error_of<MemoryError>(f); })) return n;
      EXPECT_NE(text, "accepted") << n;
      EXPECT_EQ(cuda::Memory::held(), before) << n;
    }
  }

  void train(Drops& session, int windows) const {
    for (int i = 0; i < windows; ++i) session.accumulate(x, y);
  }
  static std::vector<std::byte> bytes_of(const Drops& session) {
    std::vector<std::byte> bytes;
    for (const auto& part : {session.parameter_bytes(), session.optimizer_state_bytes()})
      bytes.insert(bytes.end(), part.begin(), part.end());
    return bytes;
  }
  std::vector<std::byte> trained(int windows) const {
    Drops session(Net{}, optimizer, whole);
    train(session, windows);
    return bytes_of(session);
  }
};

TEST_P(FullTwin, SessionsAndInferencesAreRefusedWithTheNumbers) {
  const auto construct = [&] { Drops session(Net{}, optimizer, parts); };
  const MemoryTable planned = Drops(Net{}, optimizer, parts).memory();
  leave(planned.persistent() - 1);
  EXPECT_EQ(error_of<MemoryError>(construct), refusal(planned.persistent(), planned.persistent() - 1));
  leave(planned.total() + std::int64_t{sizeof(cuda::Heard)} - 1);
  EXPECT_EQ(error_of<MemoryError>(construct), refusal(planned.transient(), planned.transient() - 1));
  leave(planned.total() + std::int64_t{sizeof(cuda::Heard)});
  EXPECT_NO_THROW(construct());

  const std::vector<float> parameters(Net::parameter_elements);
  const auto infer = [&] { const Inference<Net> inference(parameters, 40); };
  const MemoryTable inferring = Net::inference_memory(40);
  leave(inferring.persistent() - 1);
  EXPECT_EQ(error_of<MemoryError>(infer), refusal(inferring.persistent(), inferring.persistent() - 1));
  leave(inferring.total() - 1);
  EXPECT_EQ(error_of<MemoryError>(infer), refusal(inferring.transient(), inferring.transient() - 1));
  leave(inferring.total() + std::int64_t{sizeof(cuda::Heard)});
  EXPECT_NO_THROW(infer());
}

TEST_P(FullTwin, InConstructionAndSteps) {
  EXPECT_GT(refused_cleanly([&] { Drops session(Net{}, optimizer, parts); }), 5);
  Drops session(Net{}, optimizer, parts);
  EXPECT_FALSE(refused(0, [&] { train(session, 2); }));  // which allocates nothing more
  EXPECT_EQ(differing_bits(trained(2), bytes_of(session)), 0);
}

TEST_P(FullTwin, InPlanningAgain) {
  const std::vector<std::byte> undisturbed = trained(3);
  const std::int64_t before = cuda::Memory::held();
  int pieces = 0;
  for (bool any = true; any; pieces += any) {
    any = false;
    Drops session(Net{}, optimizer, whole);
    const std::int64_t plenty = session.memory().total();
    const auto try_twice = [&](auto f) {
      std::string text;
      any |= refused(pieces, [&] { text = error_of<MemoryError>(f); });
      if (text != "accepted") f();
    };
    for (int i = 0; i < 3; ++i) {
      try_twice([&] { session.set_budget(i % 2 == 0 ? plenty * 2 / 3 : plenty); });
      try_twice([&] { session.accumulate(std::span(x).first(50 * 9), std::span(y).first(50)); });
      session.accumulate(std::span(x).subspan(50 * 9), std::span(y).subspan(50));
    }
    EXPECT_EQ(session.step_count(), 3);
    EXPECT_EQ(session.allocated_bytes(), session.memory().total());
    EXPECT_EQ(differing_bits(undisturbed, bytes_of(session)), 0);
  }
  EXPECT_EQ(cuda::Memory::held(), before);
  EXPECT_GT(pieces, 4);
}

TEST_P(FullTwin, InRestoringAndPredicting) {
  Drops session(Net{}, optimizer, parts), other(Net{}, optimizer, parts);
  session.accumulate(std::span(x).first(50 * 9), std::span(y).first(50));
  EXPECT_FALSE(refused(0, [&] { other.restore(session.state()); }));
  const std::vector<float> expected = session.predict(x);
  EXPECT_GT(refused_cleanly([&] { other.predict(x); }), 0);
  EXPECT_EQ(other.predict(x), expected);
  for (Drops* each : {&session, &other}) each->accumulate(std::span(x).subspan(50 * 9), std::span(y).subspan(50));
  EXPECT_EQ(other.step_count(), 1);
  EXPECT_EQ(differing_bits(bytes_of(session), bytes_of(other)), 0);
}

TEST_P(FullTwin, AnInferenceStaysAsItWas) {
  const std::vector<float> some = numbers(Net::parameter_elements, 3), others = numbers(Net::parameter_elements, 4);
  EXPECT_GT(refused_cleanly([&] { const Inference<Net> inference(some, 40); }), 3);
  const Inference<Net> large(others, 60);
  Inference<Net> first(some, 40);
  std::vector<float> before(window * 5), got(before);
  first(x, before);
  const std::int64_t held = cuda::Memory::held();
  for (int n = 0;; ++n) {
    Inference<Net> copy(first);
    const std::int64_t of_copy = cuda::Memory::held();
    std::string text;
    const bool any = refused(n, [&] { text = error_of<MemoryError>([&] { copy = large; }); });
    EXPECT_EQ(cuda::Memory::held() == of_copy, any) << n;
    copy(x, got);
    EXPECT_EQ(got == before, any) << n;
    EXPECT_EQ(text == "accepted", !any) << n;
    if (!any) break;
  }
  EXPECT_GT(refused_cleanly([&] { Inference<Net>(first).set_parameters(others); }), 3);
  EXPECT_EQ(cuda::Memory::held(), held);
}

TEST_P(FullTwin, TheMicroBatchGetsSmaller) {
  const std::vector<std::byte> undisturbed = trained(3);
  const std::int64_t needed = Drops(Net{}, optimizer, whole).memory().total() + std::int64_t{sizeof(cuda::Heard)};
  leave(needed - 1);
  Drops session(Net{}, optimizer, whole);
  const std::int64_t small = session.options().micro_batch;
  EXPECT_LT(small, window);
  train(session, 1);
  leave_all();
  session.set_budget({});
  EXPECT_EQ(session.options().micro_batch, window);
  train(session, 1);
  leave(-session.memory().transient());  // others take it as soon as it is freed
  EXPECT_THROW(session.set_budget(session.memory().total() / 2), MemoryError);
  EXPECT_THROW(session.accumulate(x, y), MemoryError);
  leave_all();
  train(session, 1);
  EXPECT_EQ(session.step_count(), 3);
  EXPECT_EQ(differing_bits(undisturbed, bytes_of(session)), 0);
}

TEST_P(FullTwin, ABudgetOfWhatIsFreeFollowsIt) {
  SessionOptions options = whole;
  options.memory_budget = Budget::free_memory();
  const std::int64_t before = cuda::Memory::held();
  leave(Net::training_memory(optimizer, 30, {.open_blocks = OpenBlocks::always}).total());
  Drops session(Net{}, optimizer, options);
  EXPECT_LE(session.options().micro_batch, 30);
  train(session, 1);
  leave_all();
  train(session, 1);
  EXPECT_EQ(session.options().micro_batch, window);
  EXPECT_EQ(cuda::Memory::held() - before, session.memory().total() + std::int64_t{sizeof(cuda::Heard)});
  EXPECT_EQ(differing_bits(trained(2), bytes_of(session)), 0);
}

INSTANTIATE_TEST_SUITE_P(Turns, FullTwin, turns, name_of_turns);

#endif

}  // namespace full_device_test
