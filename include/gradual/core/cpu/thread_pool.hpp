#pragma once
#include <atomic>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <gradual/core/config.hpp>
#include <gradual/core/error.hpp>

namespace gradual::cpu {

/// Threads that run one job together, the caller being the first of them. Between jobs they spin for a while, since a
/// training step's kernels follow each other closely, and then sleep.
class ThreadPool {
 public:
  /// Errors: OptionError where the system gives fewer.
  explicit ThreadPool(int threads) {
    try {
      for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i](std::stop_token stop) { work(stop, i); });
    } catch (const std::system_error&) {
      stop();  // those that sleep already could not be joined
      throw OptionError(std::to_string(threads) + " threads, where the system gives " + std::to_string(size()));
    } catch (...) {
      stop();
      throw;
    }
  }
  ~ThreadPool() { stop(); }

  int size() const { return static_cast<int>(workers_.size()) + 1; }

  /// Calls job(0) here and job(1), job(2), ... on the others; returns when all are done. The job must not throw.
  template <class Job>
  void run(const Job& job) {
    call_ = [](const void* f, int index) { (*static_cast<const Job*>(f))(index); };
    job_ = &job;
    busy_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
    job(0);
    for (int spins = 0; busy_.load(std::memory_order_acquire) != 0; ++spins) pause(spins);
  }

 private:
  static constexpr int patience = 20'000;  ///< turns of a spinning thread before it lets others run, or sleeps

  void stop() {
    for (std::jthread& worker : workers_) worker.request_stop();
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
  }

  static void pause(int spins) {
    if (spins > patience) std::this_thread::yield();
#if defined(__x86_64__)
    else __builtin_ia32_pause();
#elif defined(__aarch64__)
    else asm volatile("yield");
#endif
  }

  void work(const std::stop_token& stop, int index) {
    for (unsigned seen = 0;;) {
      for (int spins = 0; round_.load(std::memory_order_acquire) == seen; ++spins)
        if (spins > patience) round_.wait(seen, std::memory_order_acquire);
        else pause(0);
      ++seen;
      if (stop.stop_requested()) return;
      call_(job_, index);
      busy_.fetch_sub(1, std::memory_order_release);
    }
  }

  void (*call_)(const void*, int) = nullptr;
  const void* job_ = nullptr;
  std::atomic<int> busy_{0};
  std::atomic<unsigned> round_{0};
  std::vector<std::jthread> workers_;  // last: they must end before what they read
};

}  // namespace gradual::cpu
