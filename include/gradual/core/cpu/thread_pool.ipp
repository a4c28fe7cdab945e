#pragma once
#include <gradual/core/cpu/thread_pool.hpp>

#include <string>
#include <system_error>

#include <gradual/core/error.hpp>

namespace gradual::cpu {

GRADUAL_ONCE ThreadPool::ThreadPool(int threads) : parts_(threads), next_(static_cast<unsigned>(threads)) {
  if (threads >= static_cast<int>(parts_of_a_round))
    throw OptionError(std::to_string(threads) + " threads: at most 65535 can be");
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

GRADUAL_ONCE ThreadPool::~ThreadPool() { stop(); }

GRADUAL_ONCE void ThreadPool::stop() {
  for (std::jthread& worker : workers_) worker.request_stop();
  begin_round(parts_);
}

GRADUAL_ONCE void ThreadPool::begin_round(int first_part) {
  const unsigned round = next_.load(std::memory_order_relaxed) / parts_of_a_round + 1;
  next_.store(round * parts_of_a_round + static_cast<unsigned>(first_part), std::memory_order_release);
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

GRADUAL_ONCE void ThreadPool::work(const std::stop_token& stop) {
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

}  // namespace gradual::cpu
