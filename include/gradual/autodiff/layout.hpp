#pragma once
#include <gradual/autodiff/lifetimes.hpp>

namespace gradual {

/// Who lies on whom, found by placing lifetimes at a reference batch. Kept at every batch, so that offsets are maxima
/// of affine functions of the batch, and bytes are monotone in it.
template <int N>
struct Layout {
  std::int64_t reference[N > 0 ? N : 1]{};  ///< offsets at the reference batch
  int below[N > 0 ? N : 1]{};               ///< the neighbour below when it was placed, or −1
  int above[N > 0 ? N : 1]{};               ///< the neighbour above when it was placed, or −1
  int order[N > 0 ? N : 1]{};               ///< by rising reference offset
};

namespace detail {

/// Places lifetimes at one batch, by first fit in one sequence after another until the lower bound is reached.
template <int N>
class LayoutFinder {
 public:
  constexpr LayoutFinder(const Lifetimes<N>& all, std::int64_t batch) : lifetimes_(all.lifetimes), count_(all.count) {
    for (int i = 0; i < count_; ++i) bytes_[i] = lifetimes_[i].bytes(batch);
    const std::int64_t bound = all.lower_bound(batch);
    const auto done = [&] { return least_ <= bound || pairs_ > most_pairs; };
    int sequence[N > 0 ? N : 1]{};
    for (int i = 0; i < count_; ++i) sequence[i] = i;
    attempt(sequence);  // in order of birth
    if (!done()) attempt_by(sequence, [&](int a, int b) { return bytes_[a] >= bytes_[b]; });
    if (!done()) attempt_by(sequence, [&](int a, int b) { return length(a) >= length(b); });
    if (!done()) attempt_by(sequence, [&](int a, int b) { return lifetimes_[a].end >= lifetimes_[b].end; });
    restart(sequence);
    if (!done()) attempt(sequence);
    for (int round = 0; round < 16 && !done(); ++round) {  // whatever ends highest is placed earlier
      int at = 0;
      while (sequence[at] != highest_) ++at;
      const int to = round % 3 == 2 ? at / 2 : 0;
      for (; at > to; --at) sequence[at] = sequence[at - 1];
      sequence[to] = highest_;
      attempt(sequence);
    }
    for (unsigned round = 0; round < 256 && !done(); ++round) {  // two of the best sequence change places
      restart(sequence);
      const unsigned random = (round + 1) * 2654435761u, n = static_cast<unsigned>(count_);
      const unsigned a = (random >> 8) % n, b = (random >> 20) % n;
      const int held = sequence[a];
      sequence[a] = sequence[b];
      sequence[b] = held;
      attempt(sequence);
    }
    link();
  }
  constexpr const Layout<N>& result() const { return result_; }

 private:
  static constexpr int most_pairs = 60'000;  ///< of lifetimes looked at: bounds what compilers must evaluate

  constexpr int length(int i) const { return lifetimes_[i].end - lifetimes_[i].begin; }

  constexpr void restart(int* sequence) const {
    for (int i = 0; i < count_; ++i) sequence[i] = best_[i];
  }
  template <class NotAfter>
  constexpr void attempt_by(int* sequence, NotAfter not_after) {
    for (int i = 0; i < count_; ++i) sequence[i] = i;
    sort(sequence, not_after);
    attempt(sequence);
  }

  /// First fit among those placed before that are alive at the same time. Kept where none before needed less.
  constexpr void attempt(const int* sequence) {
    std::int64_t offset[N > 0 ? N : 1]{}, total = 0;
    int placed[N > 0 ? N : 1]{};  // by rising offset
    for (int s = 0; s < count_; ++s) {
      const int id = sequence[s];
      const Lifetime& life = lifetimes_[id];
      std::int64_t at = 0;
      for (int k = 0; k < s; ++k) {
        const int other = placed[k];
        if (!lifetimes_[other].meets(life)) continue;
        if (offset[other] - at >= bytes_[id]) break;
        if (const std::int64_t top = offset[other] + bytes_[other]; top > at) at = top;
      }
      offset[id] = at;
      int k = s;
      for (; k > 0 && offset[placed[k - 1]] > at; --k) placed[k] = placed[k - 1];
      placed[k] = id;
      if (at + bytes_[id] > total) total = at + bytes_[id], highest_ = id;
    }
    pairs_ += count_ * count_ / 2;
    if (least_ >= 0 && total > least_) return;
    least_ = total;
    for (int i = 0; i < count_; ++i) result_.reference[i] = offset[i], best_[i] = sequence[i];
  }

  /// Finds the neighbours: each lifetime's, when it is born. Whoever lies between two others that outlive it keeps them
  /// apart, so that all who are alive together stay in order.
  constexpr void link() {
    int alive[N > 0 ? N : 1]{}, count = 0;  // by rising offset
    for (int id = 0; id < count_; ++id) {
      int kept = 0, at = 0;
      for (int k = 0; k < count; ++k)
        if (lifetimes_[alive[k]].end >= lifetimes_[id].begin) alive[kept++] = alive[k];
      for (count = kept; at < count && result_.reference[alive[at]] < result_.reference[id];) ++at;
      result_.below[id] = at > 0 ? alive[at - 1] : -1;
      result_.above[id] = at < count ? alive[at] : -1;
      for (int k = count++; k > at; --k) alive[k] = alive[k - 1];
      alive[at] = id;
      result_.order[id] = id;
    }
    sort(result_.order, [this](int a, int b) { return result_.reference[a] <= result_.reference[b]; });
  }

  /// Merge sort of indices of lifetimes; stable.
  template <class NotAfter>
  constexpr void sort(int* index, NotAfter not_after) const {
    int merged[N > 0 ? N : 1]{};
    for (int width = 1; width < count_; width *= 2) {
      for (int left = 0; left < count_; left += 2 * width) {
        const int middle = left + width < count_ ? left + width : count_;
        const int right = middle + width < count_ ? middle + width : count_;
        for (int a = left, b = middle, out = left; out < right; ++out)
          merged[out] = index[b >= right || (a < middle && not_after(index[a], index[b])) ? a++ : b++];
      }
      for (int i = 0; i < count_; ++i) index[i] = merged[i];
    }
  }

  const Lifetime* lifetimes_;
  int count_;
  std::int64_t bytes_[N > 0 ? N : 1]{};
  std::int64_t least_ = -1;
  int highest_ = 0, pairs_ = 0;
  int best_[N > 0 ? N : 1]{};
  Layout<N> result_{};
};

}  // namespace detail

/// The best layout found at one batch.
template <int N>
constexpr Layout<N> find_layout(const Lifetimes<N>& lifetimes, std::int64_t reference_batch) {
  return detail::LayoutFinder<N>(lifetimes, reference_batch).result();
}

}  // namespace gradual
