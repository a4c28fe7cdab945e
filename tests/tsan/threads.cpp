// What the guide to threads allows, in a program that is compiled with -fsanitize=thread: it ends with an error where two
// threads touch the same memory without an order, or where bits depend on threads.
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gradual/gradual.hpp>

using namespace gradual;

namespace {

int failures = 0;
std::mutex of_failures;
void expect(bool good, const char* what) {
  if (good) return;
  const std::lock_guard lock(of_failures);
  ++failures;
  std::fprintf(stderr, "wrong: %s\n", what);
}

/// Kernels of every way to share out work: images, tables, products, loops, sums over rows and over samples.
struct Model {
  nn::Conv2d seen;
  nn::Embedding table;
  nn::Linear hidden, output;
  constexpr explicit Model(Scope s)
      : seen(s / "seen", 1, 6, 3, {.padding = 1}), table(s / "table", 50, 40), hidden(s / "hidden", 6 * 16, 40),
        output(s / "output", 40, 5) {}
  constexpr Var predict(Var image, Var token) const {
    return output(tanh(hidden(flatten(max_pool2d(relu(seen(image)), 2)))) * table(token));
  }
  constexpr Loss loss(Var image, Var token, Var label) const {
    const Var scores = predict(image, token);
    return {cross_entropy(scores, label), metric("accuracy", argmax(scores) == label)};
  }
};
using Net = Compiled<Model, Inputs<f32[1][8][8], i32, i32>>;
constexpr Accumulate optimizer{ClipByGlobalNorm{Adam{}, 1.0}};
constexpr std::size_t samples = 150, width = 5;  // enough for kernels to be worth sharing out; one block and a part of another

struct Data {
  std::vector<float> images;
  std::vector<std::int32_t> tokens, labels;
  Data() : images(samples * 64), tokens(samples), labels(samples) {
    for (std::size_t i = 0; i < images.size(); ++i) images[i] = static_cast<float>(i * 7919 % 1000) / 500 - 1;
    for (std::size_t i = 0; i < samples; ++i)
      tokens[i] = static_cast<std::int32_t>(i * 31 % 50), labels[i] = static_cast<std::int32_t>(i % width);
  }
};
const Data data;
const Dataset all(data.images, data.tokens, data.labels);

std::vector<float> copy_of(std::span<const float> values) { return {values.begin(), values.end()}; }

/// Calls f(0), f(1), ... on threads of their own.
template <class F>
void on_threads(int count, F f) {
  std::vector<std::jthread> threads;
  for (int t = 0; t < count; ++t) threads.emplace_back(f, t);
}

void pools_share_out_rounds() {
  on_threads(2, [](int) {
    for (int i = 0; i < 20; ++i) {
      cpu::ThreadPool pool(3);
      std::vector<int> before(3), after(3);
      for (int round = 0; round < 50; ++round) {
        pool.run([&](int part) { ++before[static_cast<std::size_t>(part)]; });
        pool.run([&](int part) { after[static_cast<std::size_t>(part)] += before[static_cast<std::size_t>((part + 1) % 3)]; });
      }
      expect(after == std::vector<int>(3, 50 * 51 / 2), "a pool's rounds");
    }
  });
}

std::vector<float> learned(int threads) {
  Session session(Net{}, optimizer, {.global_batch = samples, .micro_batch = 100, .seed = 3, .threads = threads});
  session.accumulate(data.images, data.tokens, data.labels);
  Session moved = std::move(session);
  moved.accumulate(data.images, data.tokens, data.labels);
  return copy_of(moved.parameters());
}

void sessions_are_made_run_and_ended_at_once() {
  const std::vector<float> by_one = learned(1);
  on_threads(3, [&](int t) { expect(learned(1 + t) == by_one, "sessions on threads"); });
}

void trainers_share_data_and_files() {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("gradual_tsan_" + std::to_string(::getpid()))).string();
  std::vector<float> learned[2];
  on_threads(2, [&](int t) {
    Trainer trainer(Net{}, optimizer, {.global_batch = 50, .seed = 3});
    trainer.fit(all, {.epochs = 2, .validate = all, .progress = Progress::always, .on_epoch = [&](const EpochRecord&) {
                        trainer.save(path);
                        expect(load(path).tensors.size() == 7, "a file that another thread replaces");
                      }});
    expect(Net::metric("accuracy") == 0, "what is static");
    learned[t] = copy_of(trainer.parameters());
  });
  std::filesystem::remove(path);
  expect(learned[0] == learned[1], "trainers on threads");
}

void a_copy_ends_beside_its_original() {
  const std::vector<float> zeros(Net::parameter_elements);
  Inference<Net> original(zeros, 64);
  std::atomic<bool> ended = false;
  const std::jthread other([&, copy = std::optional(original)]() mutable {
    std::vector<float> scores(samples * width);
    (*copy)(data.images, data.tokens, scores);
    copy.reset();
    ended.store(true, std::memory_order_relaxed);  // orders nothing
  });
  while (!ended.load(std::memory_order_relaxed)) std::this_thread::yield();
  original.set_parameters(zeros);  // writes over what the copy has read
}

Trainer<Net, std::remove_const_t<decltype(optimizer)>>* interrupted;

void inferences_share_weights_of_a_net_that_learns() {
  Trainer trainer(Net{}, optimizer, {.global_batch = 50, .micro_batch = 25, .threads = 2});
  Inference<Net> newest(trainer.parameters(), 64);
  std::mutex of_newest;
  std::atomic<int> predicted = 0;
  {
    std::vector<std::jthread> readers;
    for (int t = 0; t < 2; ++t)
      readers.emplace_back([&, t](std::stop_token ended) {
        std::vector<float> scores(samples * width);
        std::unique_lock lock(of_newest);
        for (Inference<Net> mine = newest; !ended.stop_requested(); lock.lock()) {
          if (t == 0) mine.set_parameters(newest);
          else mine = newest;
          lock.unlock();
          mine(data.images, data.tokens, scores);
          ++predicted;
        }
      });
    interrupted = &trainer;
    const auto usual = std::signal(SIGUSR1, [](int) { interrupted->stop(); });
    for (const bool by_signal : {false, true}) {
      std::atomic<bool> begun = false;
      const std::jthread button([&] {
        while (!begun || predicted < 10) std::this_thread::yield();
        if (by_signal) std::raise(SIGUSR1);
        else trainer.stop();
      });
      trainer.fit(all, {.epochs = 1'000'000, .on_step = [&](std::int64_t, const Averages&) {
                          const std::lock_guard lock(of_newest);
                          newest.set_parameters(trainer.parameters());
                          begun = true;
                        }});
    }
    std::signal(SIGUSR1, usual);
  }
  std::vector<float> scores(samples * width);
  newest(data.images, data.tokens, scores);
  expect(scores == trainer.predict(data.images, data.tokens), "an inference of the last parameters");
}

}  // namespace

int main() {
  pools_share_out_rounds();
  sessions_are_made_run_and_ended_at_once();
  trainers_share_data_and_files();
  a_copy_ends_beside_its_original();
  inferences_share_weights_of_a_net_that_learns();
  return failures == 0 ? 0 : 1;
}
