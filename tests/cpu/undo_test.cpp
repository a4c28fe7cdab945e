// The planned copy of a window's sums: a micro-batch that overflows, or in which the device fails, is undone to the bit, also
// if it begins and ends inside blocks; without the copy the window starts over.
#include <gtest/gtest.h>

#include <array>

#include "../count_allocations.hpp"
#include "../models.hpp"

namespace undo_test {

using namespace models;

int failing = -1;  // how many runs of backward precede the one that fails; below 0: none fails

/// The processor as a device that fails after everything has been added.
struct Faulty : Cpu {
  struct Queue : Cpu::Queue {
    using Cpu::Queue::Queue;
    void run(const Kernels& kernels, Phase which, const StepArguments& arguments) const {
      Cpu::Queue::run(kernels, which, arguments);
      if (which == Phase::backward && failing-- == 0) throw DeviceError("the device was taken away");
    }
  };
};
using Net = Compiled<Classifier, Inputs<f32[9], i32>, Faulty>;
constexpr auto optimizer = Accumulate{Adam{.learning_rate = 0.01f}};
constexpr std::int64_t window = 512;

auto session_of(NonFinite policy, std::int64_t micro_batch = 110) {
  failing = -1;
  return Session(Net{}, optimizer, {.global_batch = window, .micro_batch = micro_batch, .seed = 3, .non_finite = policy});
}

struct Undo : testing::Test {
  std::vector<float> x = numbers(2 * window * 9);
  std::vector<std::int32_t> y = labels(2 * window, 5);

  template <class S>
  int give(S& session, std::size_t first, std::size_t count) {
    return session.accumulate(std::span(x).subspan(first * 9, count * 9), std::span(y).subspan(first, count));
  }
  template <class A, class B>
  static void expect_same(const A& a, const B& b) {
    EXPECT_EQ(differing_bits(a.parameter_bytes(), b.parameter_bytes()), 0);
    EXPECT_EQ(differing_bits(a.optimizer_state_bytes(), b.optimizer_state_bytes()), 0);
    EXPECT_EQ(a.step_count(), b.step_count());
  }
};

constexpr auto parts = std::to_array<std::size_t>({7, 100, 1, 300, 104});

TEST_F(Undo, AnOverflowOfTheSumsIsUndoneInsideBlocks) {
  for (const std::size_t bad : {0u, 1u, 4u}) {  // the first, one that contains a block's end, the last
    x = numbers(2 * window * 9);
    std::size_t begin = 0;
    for (std::size_t p = 0; p < bad; ++p) begin += parts[p];
    std::fill_n(x.begin() + static_cast<std::ptrdiff_t>(begin * 9), parts[bad] * 9, 1e38f);  // each gradient is finite
    auto with = session_of(NonFinite::drop_micro_batch, 300), without = session_of(NonFinite::drop_window, 128);
    for (std::size_t at = 0, p = 0; p < parts.size(); at += parts[p++]) {
      give(with, at, parts[p]);
      if (p != bad) give(without, at, parts[p]);
    }
    without.flush();
    EXPECT_EQ(with.dropped_micro_batches(), 1);
    EXPECT_EQ(with.last_window().count(), window - static_cast<std::int64_t>(parts[bad]));
    EXPECT_EQ(without.dropped_windows(), 0);
    give(with, window, window);
    give(without, window, window);
    expect_same(with, without);
  }
}

TEST_F(Undo, WiderSumsOfAScaledLossAreUndoneAndMeasuredToo) {
  const auto check = [this]<class S>(S) {
    constexpr auto wide = Accumulate{LossScale{Adam{.learning_rate = 0.01f}, {1024, 0}}}.template in<S>();
    x = numbers(2 * window * 9);
    std::fill_n(x.begin() + 100 * 9, 300 * 9, 1e38f);
    const auto options = [](std::int64_t samples, std::int64_t micro_batch, NonFinite policy) {
      return SessionOptions{
          .global_batch = samples, .micro_batch = micro_batch, .seed = 3, .non_finite = policy, .noise_batch = 50};
    };
    Session with(Net{}, wide, options(window, 50, NonFinite::drop_micro_batch));
    Session without(Net{}, wide, options(window - 300, 20, NonFinite::drop_window));
    failing = -1;
    for (const std::size_t at : {0u, 100u, 400u}) {
      give(with, at, at == 100 ? 300 : at == 0 ? 100 : 112);
      if (at != 100) give(without, at, at == 0 ? 100 : 112);
    }
    EXPECT_EQ(with.last_window().count(), window - 300);
    expect_same(with, without);
    EXPECT_EQ(with.gradient_noise().windows, 1);
    EXPECT_EQ(with.gradient_noise().variance, without.gradient_noise().variance);
    EXPECT_EQ(with.gradient_noise().gradient_squared, without.gradient_noise().gradient_squared);
  };
  check(0.0);
  check(Compensated<float>{});
}

TEST_F(Undo, EagerSessionsUndoToTheSameBits) {
  std::fill_n(x.begin() + 107 * 9, 301 * 9, 1e38f);  // from inside a block to inside another
  auto compiled = session_of(NonFinite::drop_micro_batch, 301);
  Parameters parameters(Device::cpu());
  Classifier net(parameters.root());
  const SessionOptions options{
      .global_batch = window, .micro_batch = 301, .seed = 3, .non_finite = NonFinite::drop_micro_batch};
  Session eager(parameters, optimizer, options), resumed(parameters, optimizer, options);
  std::size_t at = 0;
  for (const std::size_t part : {107u, 301u, 104u}) {
    give(compiled, at, part);
    (at == 408 ? resumed : eager).accumulate(static_cast<std::int64_t>(part), [&](EagerTape& tape) {
      return net.loss(tape.input(std::span(x).subspan(at * 9, part * 9), {9}), tape.input(std::span(y).subspan(at, part)));
    });
    if (at == 107) resumed.restore(eager.state());
    at += part;
  }
  EXPECT_EQ(eager.dropped_micro_batches(), 1);
  EXPECT_EQ(resumed.step_count(), 1);
  EXPECT_EQ(resumed.last_window().count(), 211);
  EXPECT_TRUE(std::ranges::equal(compiled.parameters().values(), parameters.values()));
}

TEST_F(Undo, AStateKnowsWhatItsWindowDropped) {
  std::fill_n(x.begin() + 110 * 9, 110 * 9, 1e38f);
  auto whole = session_of(NonFinite::drop_micro_batch), resumed = session_of(NonFinite::drop_micro_batch);
  give(whole, 0, 330);
  EXPECT_EQ(whole.position(), 220);
  resumed.restore(whole.state());
  EXPECT_EQ(resumed.window(), whole.window());
  EXPECT_EQ(give(resumed, 330, 182), 1);
  EXPECT_EQ(give(whole, 330, 182), 1);
  expect_same(whole, resumed);
}

TEST_F(Undo, AMicroBatchInWhichTheDeviceFailsIsUndoneOrItsWindowBeginsAgain) {
  auto undisturbed = session_of(NonFinite::drop_window), forgets = session_of(NonFinite::drop_window),
       undoes = session_of(NonFinite::drop_micro_batch);
  give(undisturbed, 0, 2 * window);
  for (auto* session : {&forgets, &undoes}) {
    give(*session, 0, window + 220);
    failing = 1;
    EXPECT_THROW(give(*session, window + 220, 292), DeviceError);
    EXPECT_EQ(session->step_count(), 1);
    const std::int64_t kept = session == &undoes ? 330 : 0;  // the first part of that call was added
    EXPECT_EQ(session->position(), kept);
    EXPECT_EQ(give(*session, static_cast<std::size_t>(window + kept), static_cast<std::size_t>(window - kept)), 1);
    expect_same(*session, undisturbed);
  }
  EXPECT_EQ(undoes.dropped_micro_batches(), 0);
}

TEST_F(Undo, TheCopyIsPlannedAndAllocatedForWhoAsks) {
  for (const std::int64_t micro_batch : {110, 128}) {
    const std::int64_t before = block_bytes;
    const auto plain = session_of(NonFinite::drop_window, micro_batch);
    const std::int64_t between = block_bytes;
    const auto asking = session_of(NonFinite::drop_micro_batch, micro_batch);
    EXPECT_EQ(between - before, plain.memory().total());
    EXPECT_EQ(block_bytes - between, asking.memory().total());
    EXPECT_EQ(plain.memory().undo, 0);
    EXPECT_EQ(asking.memory().undo, asking.memory().total() - plain.memory().total());
    EXPECT_EQ(
        asking.memory().total(),
        Net::training_memory(optimizer, micro_batch, {.open_blocks = OpenBlocks::always, .extras = {.undo = true}}).total());
  }
  constexpr WindowExtras asked{.undo = true};
  static_assert(Net::window_memory<decltype(optimizer)>(128, window, {.extras = asked}).undo <
                Net::window_memory<decltype(optimizer)>(110, window, {.extras = asked})
                    .undo);  // parts that end with blocks leave none open
}

}  // namespace undo_test
