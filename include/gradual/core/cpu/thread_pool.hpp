#pragma once
#include <atomic>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <gradual/core/config.hpp>
#include <gradual/core/error.hpp>

namespace gradual::cpu {

/// Threads that run the parts of one job together, the caller being one of them. Each takes the next part that none has taken,
/// so that a thread whose core another process has is not waited for. Between jobs they spin for a while, since a training
/// step's kernels follow each other closely, and then sleep.
class ThreadPool {
 public:
  /// Errors: OptionError where the system gives fewer.
  explicit ThreadPool(int threads) : parts_(threads), next_(static_cast<unsigned>(threads)) {
    if (threads >= static_cast<int>(parts_of_a_round)) throw OptionError(std::to_string(threads) + " threads: at most 65535 can be");
    try {
      for (int i = 1; i < threads; ++i) workers_.emplace_back([this](std::stop_token stop) { work(stop); });
    } catch (const std::system_error&) {
      stop();  // those that sleep already could not be joined
      throw OptionError(std::to_string(threads) + " threads, where the system gives " + std::to_string(workers_.size() + 1));
    } catch (...) {
      stop();
      throw;
    }
  }
  ~ThreadPool() { stop(); }

  int size() const { return parts_; }

  /// Calls job(0), job(1), ... as many as there are threads; returns when all are done. The job must not throw.
  template <class Job>
  void run(const Job& job) {
    call_ = [](const void* f, int index) { (*static_cast<const Job*>(f))(index); };
    job_ = &job;
    left_.store(parts_, std::memory_order_relaxed);
    begin_round(0);
    take_parts();
    for (int spins = 0; left_.load(std::memory_order_acquire) != 0; ++spins) pause(spins);
  }

 private:
  static constexpr unsigned parts_of_a_round = 1 << 16;
  static constexpr int patience = 20'000;  ///< turns of a spinning thread before it lets others run, or sleeps

  void stop() {
    for (std::jthread& worker : workers_) worker.request_stop();
    begin_round(parts_);
  }

  void begin_round(int first_part) {
    const unsigned round = next_.load(std::memory_order_relaxed) / parts_of_a_round + 1;
    next_.store(round * parts_of_a_round + static_cast<unsigned>(first_part), std::memory_order_release);
    next_.notify_all();
  }
  /// Runs parts until all of the round are taken. Who has taken one may read what the job is: it stays until all are done.
  void take_parts() {
    for (unsigned next = next_.load(std::memory_order_acquire); next % parts_of_a_round < static_cast<unsigned>(parts_);) {
      if (!next_.compare_exchange_weak(next, next + 1, std::memory_order_acquire)) continue;
      call_(job_, static_cast<int>(next % parts_of_a_round));
      left_.fetch_sub(1, std::memory_order_release);
      ++next;
    }
  }

  static void pause(int spins) {
    if (spins > patience) std::this_thread::yield();
#if defined(__x86_64__)
    else __builtin_ia32_pause();
#elif defined(__aarch64__)
    else asm volatile("yield");
#endif
  }

  void work(const std::stop_token& stop) {
    for (;;) {
      take_parts();
      const unsigned seen = next_.load(std::memory_order_acquire);
      if (stop.stop_requested()) return;  // asked behind `seen`, else its round could be missed
      if (seen % parts_of_a_round < static_cast<unsigned>(parts_)) continue;  // a round has begun meanwhile
      for (int spins = 0; next_.load(std::memory_order_acquire) == seen; ++spins)
        if (spins > patience) next_.wait(seen, std::memory_order_acquire);
        else pause(0);
    }
  }

  void (*call_)(const void*, int) = nullptr;
  const void* job_ = nullptr;
  const int parts_;
  std::atomic<int> left_{0};    ///< parts that are not done
  std::atomic<unsigned> next_;  ///< the round, and in it the part that is taken next
  std::vector<std::jthread> workers_;  // last: they must end before what they read
};

}  // namespace gradual::cpu
