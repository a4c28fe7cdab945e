#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

namespace gradual::cuda {

/// Whether new streams do their work only when somebody waits for it, which reveals missing waits, or at once: tests try both.
inline bool twin_works_late = false;

namespace twin {

inline std::int64_t not_yet_done = 0;  ///< number of functions queued in all streams

/// The queued work of a stream.
class Work {
 public:
  Work() { all().push_back(this); }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  ~Work() { std::erase(all(), this); }

  void add(std::function<void()> work) {
    ++asked_;
    ++not_yet_done;
    pending_.push_back(std::move(work));
    if (!late_) run_until(asked_);
  }
  std::int64_t asked() const { return asked_; }
  void run_until(std::int64_t place) {
    while (done_ < place) {
      const std::function<void()> next = std::move(pending_.front());
      pending_.pop_front();
      ++done_;
      --not_yet_done;
      next();
    }
  }

  /// Does the queued work of all streams, as a device does before memory is freed.
  static void finish_all() {
    for (std::size_t i = 0; i < all().size(); ++i) all()[i]->run_until(all()[i]->asked());
  }

 private:
  static std::vector<Work*>& all() {
    static std::vector<Work*> streams;
    return streams;
  }

  std::deque<std::function<void()>> pending_;
  std::int64_t asked_ = 0, done_ = 0;
  const bool late_ = twin_works_late;
};

}  // namespace twin

}  // namespace gradual::cuda
