#pragma once
#include <gradual/core/cpu/thread_pool.hpp>

#include <unistd.h>

#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <gradual/core/error.hpp>

namespace gradual::cpu {

struct ThreadPool::Workers {
  std::vector<std::jthread> threads;
  const pid_t process = ::getpid();
};

GRADUAL_ONCE ThreadPool::ThreadPool(int threads)
    : parts_(threads), next_(static_cast<unsigned>(threads)), workers_(std::make_unique<Workers>()) {
  if (threads >= static_cast<int>(parts_of_a_round))
    throw OptionError(std::to_string(threads) + " threads: at most 65535 are possible");
  try {
    for (int i = 1; i < threads; ++i) workers_->threads.emplace_back([this] { work(); });
  } catch (const std::system_error&) {
    stop();  // else threads that already sleep could not be joined
    throw OptionError(std::to_string(threads) + " threads: the system allows only " +
                      std::to_string(workers_->threads.size() + 1));
  } catch (...) {
    stop();
    throw;
  }
}

GRADUAL_ONCE ThreadPool::~ThreadPool() {
  if (::getpid() == workers_->process) stop();
  else workers_.release();  // a fork has none of these threads: there is nothing to join
}

GRADUAL_ONCE void ThreadPool::stop() {
  left_.store(static_cast<int>(workers_->threads.size()), std::memory_order_relaxed);
  stopping_.store(true, std::memory_order_release);
  begin_round(parts_);
  // Again and again: without futexes, as on Windows, libstdc++ 12's notify_all misses a thread that is about to sleep.
  for (int spins = 0; left_.load(std::memory_order_acquire) != 0; ++spins) {
    if (spins > patience) next_.notify_all();
    pause(spins);
  }
}

GRADUAL_ONCE void ThreadPool::begin_round(int first_part) {
  const unsigned round = next_.load(std::memory_order_relaxed) / parts_of_a_round + 1;
  // Not only a release: libstdc++'s notify_all looks whether any thread sleeps, which a processor could do before the store. A
  // thread that goes to sleep in between would miss the end of the pool, and never be joined.
  next_.store(round * parts_of_a_round + static_cast<unsigned>(first_part), std::memory_order_seq_cst);
  next_.notify_all();
}

GRADUAL_ONCE void ThreadPool::take_parts() {
  for (unsigned next = next_.load(std::memory_order_acquire); next % parts_of_a_round < static_cast<unsigned>(parts_);) {
    if (!next_.compare_exchange_weak(next, next + 1, std::memory_order_acquire)) continue;
    call_(job_, static_cast<int>(next % parts_of_a_round));
    left_.fetch_sub(1, std::memory_order_release);
    ++next;
  }
}

GRADUAL_ONCE void ThreadPool::pause(int spins) {
  if (spins > patience) std::this_thread::yield();
#if defined(__x86_64__)
  else __builtin_ia32_pause();
#elif defined(__aarch64__)
  else asm volatile("yield");
#endif
}

GRADUAL_ONCE void ThreadPool::work() {
  for (;;) {
    take_parts();
    const unsigned seen = next_.load(std::memory_order_acquire);
    if (stopping_.load(std::memory_order_acquire)) {  // read after `seen`, else its round could be missed
      left_.fetch_sub(1, std::memory_order_release);
      return;
    }
    if (seen % parts_of_a_round < static_cast<unsigned>(parts_)) continue;  // a round has begun meanwhile
    for (int spins = 0; next_.load(std::memory_order_acquire) == seen; ++spins)
      if (spins > patience) next_.wait(seen, std::memory_order_acquire);
      else pause(0);
  }
}

}  // namespace gradual::cpu
