#pragma once
// The host twin of a GPU: the threads of a block are fibers that take turns at barriers and shuffles. It shows that kernels
// compute the right results and that all threads reach the same barriers; it says nothing about speed.
#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <barrier>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <gradual/core/set_while.hpp>

#if defined(__USE_FORTIFY_LEVEL) && __USE_FORTIFY_LEVEL > 0
#error "gradual: threads of the host twin jump between stacks, which _FORTIFY_SOURCE takes for a mistake: add -U_FORTIFY_SOURCE"
#endif

namespace gradual::cuda::twin {

/// One launch: runs its blocks one after another, or those of a cluster at once.
class Grid {
 public:
  /// Returns the launch that is running on this thread.
  static Grid& current() { return *current_; }

  /// `backwards`: threads take turns from the last to the first, which shows where a barrier is missing.
  /// Errors: std::logic_error where threads wait for others that have ended.
  Grid(std::int64_t blocks, int threads, std::function<void()> kernel, bool backwards)
      : blocks_(blocks), threads_(threads), kernel_(std::move(kernel)), backwards_(backwards) {
    const SetWhile<Grid*> running(current_, this);
    for (block_ = 0; block_ < blocks_; ++block_) run_block();
  }
  /// Launches one cluster, whose blocks run at once, each on a thread of the host. Errors: as the constructor; std::logic_error
  /// where some blocks reach cluster barriers more often than others.
  static void run_cluster(int blocks, int threads, const std::function<void()>& kernel, bool backwards) {
    std::barrier<> meeting(blocks);
    std::vector<int> waited(static_cast<std::size_t>(blocks));
    std::vector<std::exception_ptr> failed(waited.size());
    const auto run = [&](std::size_t block) {
      try {
        waited[block] = Grid(block, blocks, meeting, threads, kernel, backwards).waited_;
      } catch (...) {
        failed[block] = std::current_exception();
      }
      meeting.arrive_and_drop();  // the others no longer wait for this block
    };
    {
      std::vector<std::jthread> others;
      for (std::size_t block = 1; block < waited.size(); ++block) others.emplace_back(run, block);
      run(0);
    }
    for (const std::exception_ptr& error : failed)
      if (error) std::rethrow_exception(error);
    if (std::ranges::count(waited, waited[0]) != blocks)
      throw std::logic_error("some blocks of a cluster reach more cluster barriers than others");
  }

  int thread() const { return thread_; }
  int threads() const { return threads_; }
  std::int64_t block() const { return block_; }
  std::int64_t blocks() const { return blocks_; }

  void barrier() { all_.wait(threads_, *this); }
  /// Waits for all threads of the cluster, or of the block where that is alone.
  void cluster_barrier() {
    barrier();
    if (cluster_ == nullptr) return;
    if (thread_ == 0) ++waited_, cluster_->arrive_and_wait();
    barrier();
  }

  template <class T>
  T shuffle_down(T value, int by) {
    const int from = thread_ % 32 + by;
    in_warp(value, [&](const Warp& warp) {
      if (from < 32) std::memcpy(&value, warp.lane[from], sizeof(T));
    });
    return value;
  }
  unsigned ballot(bool yes) {
    unsigned bits = 0;
    in_warp(yes, [&](const Warp& warp) {
      for (unsigned l = 0; l < 32; ++l) bits |= unsigned{warp.lane[l][0] != 0} << l;
    });
    return bits;
  }

 private:
  Grid(std::size_t block, int blocks, std::barrier<>& cluster, int threads, const std::function<void()>& kernel, bool backwards)
      : block_(static_cast<std::int64_t>(block)), blocks_(blocks), threads_(threads), kernel_(kernel), backwards_(backwards),
        cluster_(&cluster) {
    const SetWhile<Grid*> running(current_, this);
    run_block();
  }

  /// A reusable barrier for `count` threads.
  struct Meeting {
    int arrived = 0;
    unsigned round = 0;
    void wait(int count, Grid& grid) {
      const unsigned mine = round;
      grid.moved_ = true;
      if (++arrived == count) arrived = 0, ++round;
      while (round == mine) grid.yield();
      grid.moved_ = true;
    }
  };
  struct Warp {
    Meeting meeting;
    unsigned char lane[32][16];
  };
  /// Calls f(warp) when all of its lanes have given their values.
  template <class T, class F>
  void in_warp(T value, F f) {
    static_assert(sizeof(T) <= sizeof(Warp::lane[0]));
    Warp& warp = warps_[static_cast<std::size_t>(thread_ / 32)];
    std::memcpy(warp.lane[thread_ % 32], &value, sizeof(T));
    warp.meeting.wait(32, *this);
    f(std::as_const(warp));
    warp.meeting.wait(32, *this);
  }
  /// Made once, then reused for one kernel thread after another. It switches by jumps: `swapcontext` makes two system calls.
  struct Fiber {
    ucontext_t context;
    jmp_buf place;
    std::unique_ptr<char[]> stack{new char[stack_bytes]};
    bool begun = false, done = true;
  };
  static constexpr std::size_t stack_bytes = 128 * 1024;

  void run_block() {
    std::vector<Fiber>& fibers = pool();
    while (fibers.size() < static_cast<std::size_t>(threads_)) fibers.emplace_back();
    all_ = {};
    warps_.assign(static_cast<std::size_t>(threads_ + 31) / 32, {});
    for (int t = 0; t < threads_; ++t) fibers[static_cast<std::size_t>(t)].done = false;
    for (int left = threads_; left > 0;) {
      moved_ = false;
      for (int i = 0; i < threads_; ++i) {
        thread_ = backwards_ ? threads_ - 1 - i : i;
        Fiber& fiber = fibers[static_cast<std::size_t>(thread_)];
        if (fiber.done) continue;
        enter(fiber);
        if (fiber.done) --left, moved_ = true;
      }
      if (!moved_) {
        fibers.clear();  // they are in the middle of the kernel
        throw std::logic_error("threads of a block wait at a barrier that others never reach");
      }
    }
  }
  void enter(Fiber& fiber) {
    if (_setjmp(scheduler_) != 0) return;
    if (fiber.begun) _longjmp(fiber.place, 1);
    fiber.begun = true;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = stack_bytes;
    makecontext(&fiber.context, &run_threads, 0);
    setcontext(&fiber.context);
  }
  static void run_threads() {
    for (;;) {
      current_->kernel_();
      pool()[static_cast<std::size_t>(current_->thread_)].done = true;
      current_->yield();
    }
  }
  void yield() {
    if (_setjmp(pool()[static_cast<std::size_t>(thread_)].place) == 0) _longjmp(scheduler_, 1);
  }
  static std::vector<Fiber>& pool() {
    static thread_local std::vector<Fiber> fibers;
    return fibers;
  }

  inline static thread_local Grid* current_ = nullptr;
  std::int64_t block_ = 0, blocks_;
  int thread_ = 0, threads_;
  std::function<void()> kernel_;
  bool backwards_, moved_ = false;
  std::barrier<>* cluster_ = nullptr;
  int waited_ = 0;  // number of waits at the cluster barrier
  Meeting all_;
  std::vector<Warp> warps_;
  jmp_buf scheduler_;
};

}  // namespace gradual::cuda::twin
