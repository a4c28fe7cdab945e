#pragma once
#include <gradual/core/memory_parts.hpp>

#include <algorithm>
#include <exception>
#include <thread>
#include <vector>

#include <gradual/core/alignment.hpp>
#include <gradual/core/config.hpp>

namespace gradual::detail {

GRADUAL_ONCE void run_memory_parts(std::int64_t bytes, void (*part)(const void*, std::int64_t, std::int64_t), const void* f) {
  constexpr std::int64_t worth_a_thread = 8 << 20;
  const std::int64_t most = std::max(1u, std::thread::hardware_concurrency());
  const std::int64_t threads = std::clamp<std::int64_t>(bytes / worth_a_thread, 1, most);
  const auto start = [&](std::int64_t i) { return i == threads ? bytes : bytes / threads * i / alignment * alignment; };
  std::vector<std::jthread> others;
  for (std::int64_t i = 1; i < threads; ++i) try {
      others.emplace_back([=, begin = start(i), end = start(i + 1)] { part(f, begin, end); });
    } catch (const std::exception&) {  // the system grants fewer threads
      part(f, start(i), start(i + 1));
    }
  part(f, 0, start(1));
}

}  // namespace gradual::detail
