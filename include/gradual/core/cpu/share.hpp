#pragma once
#include <gradual/core/cpu/part.hpp>
#include <gradual/core/cpu/thread_pool.hpp>

namespace gradual::cpu {

/// Calls job(range) for all of `count` things: once or, if so many are worth it, for one part on each thread of the pool (null:
/// a single thread). A job's results must not depend on where parts end.
template <class Job>
void share(ThreadPool* pool, std::int64_t count, const Job& job) {
  constexpr std::int64_t worth_sharing = 1 << 16;  // numbers, from memory: about ten microseconds
  if (pool == nullptr || count < worth_sharing) job(Part::Range{0, count});
  else pool->run([&](int index) { job(Part{index, pool->size()}.of(count, 64)); });
}

}  // namespace gradual::cpu
