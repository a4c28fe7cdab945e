#pragma once
#include <atomic>
#include <cstdint>
#include <memory>

#include <gradual/core/config.hpp>

namespace gradual::cpu {

/// Multiply-adds, about three microseconds' worth, from which on a job is worth sharing among threads.
inline constexpr std::int64_t worth_threads = 300'000;

/// Threads, the caller's among them, that run the parts of one job together. Each takes the next part that none has taken, so
/// that a thread whose core runs another process is not waited for. Between jobs they spin for a while, since a training step's
/// kernels follow each other closely, and then sleep.
class ThreadPool {
 public:
  /// Errors: OptionError for more than 65535, or if the system gives fewer.
  explicit ThreadPool(int threads);
  ~ThreadPool();

  int size() const { return parts_; }

  /// Calls job(0), job(1), ..., one for each thread; returns when all are done. The job must not throw.
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

  void stop();

  void begin_round(int first_part);
  /// Runs parts until all of the round are taken. A thread that has taken one may read the job, which stays until all are done.
  void take_parts();

  static void pause(int spins);

  /// Runs a thread other than the caller's until it is told to stop.
  void work();

  void (*call_)(const void*, int) = nullptr;
  const void* job_ = nullptr;
  const int parts_;
  std::atomic<int> left_{0};    ///< parts that are not done; at the end, threads that have not left
  std::atomic<unsigned> next_;  ///< the round, and in it the part that is taken next
  std::atomic<bool> stopping_ = false;
  struct Workers;  // keeps <thread> out of every source
  std::unique_ptr<Workers> workers_;  // last: they must end before the members that they read
};

}  // namespace gradual::cpu

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/core/cpu/thread_pool.ipp>
#endif
