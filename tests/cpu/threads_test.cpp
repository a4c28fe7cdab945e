// Threads divide outputs and never split a chain: the bits do not depend on their number, the bytes are planned.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cfenv>
#include <chrono>
#include <limits>
#include <optional>
#include <thread>

#include "../error_of.hpp"
#include "../models.hpp"

namespace threads_test {

using namespace models;

/// So large that its products, loops and update are split among threads, with widths that no number of threads divides.
struct Wide {
  nn::Linear hidden, output;
  constexpr explicit Wide(Scope s) : hidden(s / "hidden", 130, 517), output(s / "output", 517, 10) {}
  constexpr Var predict(Var x) const { return output(dropout(tanh(hidden(x)), 0.1)); }
  constexpr Loss loss(Var x, Var label) const { return {cross_entropy(predict(x), label)}; }
};
using WideNet = Compiled<Wide, Inputs<f32[130], i32>>;
constexpr auto optimizer = Accumulate{ClipByGlobalNorm{AdamW{}, 1.0}};
constexpr std::size_t samples = 256;

std::vector<std::byte> trained(int threads, std::int64_t micro_batch) {
  const auto x = numbers(samples * 130);
  const auto y = labels(samples, 10);
  Session session(WideNet{}, optimizer, {.global_batch = samples, .micro_batch = micro_batch, .seed = 3, .threads = threads});
  for (int step = 0; step < 4; ++step) session.accumulate(x, y);
  std::vector<std::byte> state(session.parameter_bytes().begin(), session.parameter_bytes().end());
  state.insert(state.end(), session.optimizer_state_bytes().begin(), session.optimizer_state_bytes().end());
  return state;
}

TEST(Threads, ChangeNoBit) {
  const auto one = trained(1, samples);
  for (int threads : {2, 3, 5})
    for (std::int64_t micro_batch : {256, 100}) EXPECT_EQ(differing_bits(one, trained(threads, micro_batch)), 0) << threads;
}

TEST(Threads, ThatTheSystemDoesNotGiveAreRefused) {
  pthread_attr_t usual, huge;
  ASSERT_EQ(::pthread_getattr_default_np(&usual), 0);
  ASSERT_EQ(::pthread_getattr_default_np(&huge), 0);
  ASSERT_EQ(::pthread_attr_setstacksize(&huge, std::size_t{1} << 50), 0);  // beyond any address
  ASSERT_EQ(::pthread_setattr_default_np(&huge), 0);
  std::string what;
  try {
    cpu::ThreadPool pool(3);
  } catch (const OptionError& error) {
    what = error.what();
  }
  ::pthread_setattr_default_np(&usual);
  EXPECT_EQ(what, "3 threads: the system allows only 1");
}

TEST(Threads, ShareWhatIsDoneWhereAWindowEnds) {
  constexpr std::int64_t count = 200'003;  // enough to be split among threads
  const Cpu::Queue one(1), three(3);
  const auto from = numbers(count);
  const auto same = [](const auto& a, const auto& b) {
    return differing_bits(std::as_bytes(std::span(a)), std::as_bytes(std::span(b))) == 0;
  };
  auto by_one = numbers(count, 2), by_three = by_one;
  one.add(by_one.data(), from.data(), count);
  three.add(by_three.data(), from.data(), count);
  EXPECT_TRUE(same(by_one, by_three));
  std::vector<Compensated<bf16>> sums(count), others;
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = Compensated<bf16>::of(from[i]);
  others = sums;
  one.complete(sums.data(), count);
  three.complete(others.data(), count);
  EXPECT_TRUE(same(sums, others));
  three.copy(by_three.data(), from.data(), count * 4);
  EXPECT_TRUE(same(by_three, from));
  EXPECT_TRUE(three.all_finite(by_three.data(), count));
  for (const std::size_t place : {0, 66'667, 133'335, 200'002}) {
    by_three[place] = std::numeric_limits<float>::infinity();
    EXPECT_FALSE(three.all_finite(by_three.data(), count)) << place;
    by_three[place] = 0;
  }
}

TEST(Threads, WorkspaceIsPlannedForEach) {
  constexpr auto one = WideNet::training_memory(optimizer, 128);
  constexpr auto three = WideNet::training_memory(optimizer, 128, {.threads = 3});
  static_assert(one.workspace > 0 && three.workspace == 3 * one.workspace && three.total() == one.total() + 2 * one.workspace);
  const Session session(WideNet{}, optimizer,
                        {.global_batch = 512, .micro_batch = 128, .open_blocks = OpenBlocks::as_needed, .threads = 3});
  EXPECT_EQ(session.memory().total(), three.total());
}

/// Returns x once two threads have arrived, or after ten seconds.
struct Met {
  static constexpr const char* name = "met";
  static constexpr int arity = 1;
  static inline std::atomic<int> came = 0, meeting = 0;
  static void wait() {
    thread_local int last = 0;
    if (last == meeting) return;
    last = meeting;
    ++came;
    for (const auto begin = std::chrono::steady_clock::now(); came < 2;)
      if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(10)) return;
  }
  template <class T>
  static constexpr T apply(T x) {
    if (!std::is_constant_evaluated()) wait();
    return x;
  }
  static constexpr Var vjp(Var g, Var, Var) { return g; }
};
struct Meeting {
  Parameter scale;
  using Ops = OpList<Met>;
  constexpr explicit Meeting(Scope s) : scale(s.parameter("scale", Shape{600}, init::constant(1))) {}
  constexpr Var predict(Var x) const { return elementwise<Met>(x * scale); }
  constexpr Loss loss(Var x) const { return {mean_per_sample(predict(x))}; }
};
using MeetingNet = Compiled<Meeting, Inputs<f32[600]>>;

TEST(Threads, PredictToo) {
  const auto x = numbers(samples * 600);
  std::vector<float> out(x.size());
  const auto meet = [&](auto predict) {
    ++Met::meeting;
    Met::came = 0;
    predict();
    return Met::came.load();
  };
  Session session(MeetingNet{}, Accumulate{Sgd{}}, {.global_batch = samples, .threads = 2});
  EXPECT_EQ(meet([&] { out = session.predict(x); }), 2);
  EXPECT_EQ(out, x);
  Inference<MeetingNet> inference(session.parameters(), samples, 2), copy = inference;
  EXPECT_EQ(meet([&] { inference(x, out); }), 2);
  EXPECT_EQ(meet([&] { copy(x, out); }), 2);
  EXPECT_EQ(out, x);
}

TEST(Threads, PredictTheSameBits) {
  const auto x = numbers(1000 * 130);
  Session one(WideNet{}, optimizer, {.global_batch = samples, .seed = 3});
  const std::vector<float> expected = one.predict(x);
  for (const int threads : {2, 3, 5}) {
    Session several(WideNet{}, optimizer, {.global_batch = samples, .seed = 3, .threads = threads});
    EXPECT_EQ(several.predict(x), expected) << threads;
    std::vector<float> out(expected.size());
    Inference<WideNet>(one.parameters(), 300, threads)(x, out);
    EXPECT_EQ(out, expected) << threads;
  }
  EXPECT_EQ(error_of<OptionError>([&] { Inference<WideNet>(one.parameters(), 1, 0); }),
            "Inference: 0 threads; 1 to 1024 are possible");
}

TEST(Threads, OfACopyAreNotMadeInAnotherFloatingPointMode) {
  const Inference<WideNet> inference(std::vector<float>(WideNet::parameter_elements), 1, 2);
  std::fesetround(FE_DOWNWARD);
  const std::string why = error_of<NumericsError>([&] { const Inference<WideNet> copy = inference; });
  std::fesetround(FE_TONEAREST);
  EXPECT_TRUE(why.starts_with("gradual: the processor does not round to nearest")) << why;
}

TEST(Threads, SessionsCanBeMoved) {
  const auto x = numbers(samples * 130);
  const auto y = labels(samples, 10);
  Session first(WideNet{}, optimizer, {.global_batch = samples, .seed = 3, .threads = 2});
  first.accumulate(x, y);
  static_assert(std::is_nothrow_move_constructible_v<decltype(first)> && std::is_nothrow_move_assignable_v<decltype(first)>);
  Session second = std::move(first);
  for (int step = 1; step < 4; ++step) second.accumulate(x, y);
  const auto state = trained(1, samples);
  EXPECT_EQ(differing_bits(std::span(state).first(second.parameter_bytes().size()), second.parameter_bytes()), 0);
}

TEST(Threads, AtLeastOne) {
  EXPECT_THROW(Session(WideNet{}, optimizer, {.global_batch = 1, .threads = 0}), OptionError);
}

TEST(ThreadPools, EndAtAnyMoment) {  // a worker that misses the end would never be joined
  for (int i = 0; i < 5000; ++i) {
    cpu::ThreadPool pool(3);
    pool.run([](int) {});
  }
}

TEST(ThreadPools, OfAForkAreTheCallerAlone) {
  std::optional<cpu::ThreadPool> pool(3);
  const pid_t fork = ::fork();
  if (fork == 0) {
    ::alarm(20);  // seconds, in case it waits for threads that it does not have
    std::atomic<int> parts = 0;
    pool->run([&](int) { ++parts; });
    cpu::ThreadPool own(3);  // its threads may be mistaken for those that are gone
    pool.reset();
    ::_exit(parts);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(fork, &status, 0), fork);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 3);
}

TEST(ThreadPools, RunEachPartOnce) {
  cpu::ThreadPool pool(5);  // more than there are cores: some come late
  std::vector<int> runs(5);
  for (int round = 1; round <= 2000; ++round) {
    pool.run([&](int part) { ++runs[static_cast<std::size_t>(part)]; });
    ASSERT_EQ(runs, std::vector<int>(5, round));
  }
}

}  // namespace threads_test
