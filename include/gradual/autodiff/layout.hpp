#pragma once
#include <bit>

#include <gradual/autodiff/lifetimes.hpp>

namespace gradual {

/// Which lifetime lies on which, found by placing them at a reference batch. This is kept at every batch, so that offsets are
/// maxima of affine functions of the batch, and bytes are monotone in it.
template <int N>
struct Layout {
  AtLeastOne<int, N> below{};  ///< the neighbour below when it is born, or −1
  AtLeastOne<int, N> above{};  ///< the neighbour above when it is born, or −1
  AtLeastOne<int, N> order{};  ///< lifetimes by rising offset at the reference batch
};

namespace detail {

/// The free parts of an endless block, by rising offset.
template <int N>
class Gaps {
 public:
  /// Takes bytes from the start of the first part that has enough; returns their offset.
  constexpr std::int64_t take(std::int64_t bytes) {
    if (bytes == 0) return 0;
    int k = 0;
    while (end_[k] - begin_[k] < bytes) ++k;
    const std::int64_t at = begin_[k];
    begin_[k] += bytes;
    if (begin_[k] == end_[k]) remove(k);
    return at;
  }
  constexpr void give_back(std::int64_t at, std::int64_t bytes) {
    if (bytes == 0) return;
    int k = 0;
    while (end_[k] < at) ++k;
    if (end_[k] == at) {  // right behind a part, and perhaps right before the next
      end_[k] = at + bytes;
      if (begin_[k + 1] == end_[k]) end_[k] = end_[k + 1], remove(k + 1);
    } else if (begin_[k] == at + bytes) {
      begin_[k] = at;
    } else {
      for (int l = count_++; l > k; --l) begin_[l] = begin_[l - 1], end_[l] = end_[l - 1];
      begin_[k] = at;
      end_[k] = at + bytes;
    }
  }

 private:
  constexpr void remove(int k) {
    for (--count_; k < count_; ++k) begin_[k] = begin_[k + 1], end_[k] = end_[k + 1];
  }

  int count_ = 1;
  std::int64_t begin_[N + 2]{}, end_[N + 2]{std::int64_t{1} << 62};  // the last one has no end
};

/// Places lifetimes at one batch: by first fit in one sequence after another, until the lower bound or `most_pairs` is reached.
template <int N>
class LayoutFinder {
 public:
  constexpr LayoutFinder(const Lifetimes<N>& all, std::int64_t batch) : lifetimes_(all.lifetimes), count_(all.count) {
    for (int i = 0; i < count_; ++i) bytes_[i] = lifetimes_[i].bytes(batch), by_end_[i] = i;
    const std::int64_t bound = all.lower_bound(batch);
    const auto done = [&] { return least_ <= bound || pairs_ > most_pairs; };
    AtLeastOne<int, N> sequence{};
    for (int i = 0; i < count_; ++i) sequence[i] = i;
    sort(by_end_, [this](int a, int b) { return lifetimes_[a].end <= lifetimes_[b].end; });
    attempt_by_birth(sequence);
    if (!done()) attempt_by(sequence, [&](int a, int b) { return bytes_[a] >= bytes_[b]; });
    if (!done()) attempt_by(sequence, [&](int a, int b) { return length(a) >= length(b); });
    if (!done()) attempt_by(sequence, [&](int a, int b) { return lifetimes_[a].end >= lifetimes_[b].end; });
    restart(sequence);
    if (!done()) attempt(sequence);
    for (int round = 0; round < 16 && !done(); ++round) {  // the lifetime that ends highest is placed earlier
      int at = 0;
      while (sequence[at] != highest_) ++at;
      const int to = round % 3 == 2 ? at / 2 : 0;
      for (; at > to; --at) sequence[at] = sequence[at - 1];
      sequence[to] = highest_;
      attempt(sequence);
    }
    for (unsigned round = 0; round < 256 && !done(); ++round) {  // two lifetimes of the best sequence are swapped
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
  static constexpr int most_pairs = 60'000;  ///< of lifetimes, in all attempts: bounds what compilers must evaluate

  constexpr int length(int i) const { return lifetimes_[i].end - lifetimes_[i].begin; }

  /// Calls f(lifetime) for those that end before lifetime `id` begins, except the first `dead`, for which it has been called.
  template <class F>
  constexpr void bury_before(int id, int& dead, F f) const {
    for (; lifetimes_[by_end_[dead]].end < lifetimes_[id].begin; ++dead) f(by_end_[dead]);
  }

  constexpr void restart(int* sequence) const {
    for (int i = 0; i < count_; ++i) sequence[i] = best_[i];
  }
  template <class NotAfter>
  constexpr void attempt_by(int* sequence, NotAfter not_after) {
    for (int i = 0; i < count_; ++i) sequence[i] = i;
    sort(sequence, not_after);
    attempt(sequence);
  }

  /// Does the same as `attempt` in order of birth, in which the others need not be checked one by one for being alive.
  constexpr void attempt_by_birth(const int* sequence) {
    AtLeastOne<std::int64_t, N> offset{};
    std::int64_t total = 0;
    Gaps<N> gaps;
    for (int id = 0, dead = 0; id < count_; ++id) {
      bury_before(id, dead, [&](int other) { gaps.give_back(offset[other], bytes_[other]); });
      offset[id] = gaps.take(bytes_[id]);
      if (const std::int64_t top = offset[id] + bytes_[id]; top > total) total = top, highest_ = id;
    }
    keep(sequence, offset, total);
  }

  /// Places each lifetime by first fit among those placed before that are alive at the same time.
  constexpr void attempt(const int* sequence) {
    AtLeastOne<std::int64_t, N> offset{};
    std::int64_t total = 0;
    AtLeastOne<int, N> placed{};  // by rising offset
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
    keep(sequence, offset, total);
  }

  /// Keeps a placement unless an earlier one needed less.
  constexpr void keep(const int* sequence, const std::int64_t* offset, std::int64_t total) {
    pairs_ += count_ * count_ / 2;
    if (least_ >= 0 && total > least_) return;
    least_ = total;
    for (int i = 0; i < count_; ++i) offset_[i] = offset[i], best_[i] = sequence[i];
  }

  /// Finds the neighbours of each lifetime when it is born. A lifetime between two others that outlive it keeps them apart, so
  /// that all that are alive together stay in order.
  constexpr void link() {
    int* const order = result_.order;
    for (int i = 0; i < count_; ++i) order[i] = i;
    sort(order, [this](int a, int b) { return offset_[a] <= offset_[b]; });
    AtLeastOne<int, N> place{};
    for (int k = 0; k < count_; ++k) place[order[k]] = k;
    std::uint64_t alive[words]{};  // a bit for each place in the order
    for (int id = 0, dead = 0; id < count_; ++id) {
      bury_before(id, dead, [&](int other) { alive[place[other] / 64] &= ~(std::uint64_t{1} << place[other] % 64); });
      result_.below[id] = result_.above[id] = -1;
      if (bytes_[id] == 0) continue;  // lies on nothing
      const int below = last_before(alive, place[id]), above = first_behind(alive, place[id]);
      if (below >= 0) result_.below[id] = order[below];
      if (above >= 0) result_.above[id] = order[above];
      alive[place[id] / 64] |= std::uint64_t{1} << place[id] % 64;
    }
  }

  static constexpr int words = N / 64 + 1;
  /// Returns the nearest set bit before place `at` (`first_behind`: behind it), or −1.
  static constexpr int last_before(const std::uint64_t* bits, int at) {
    std::uint64_t word = bits[at / 64] & ((std::uint64_t{1} << at % 64) - 1);
    for (int w = at / 64; w >= 0; word = w > 0 ? bits[w - 1] : 0, --w)
      if (word != 0) return w * 64 + 63 - std::countl_zero(word);
    return -1;
  }
  static constexpr int first_behind(const std::uint64_t* bits, int at) {
    std::uint64_t word = bits[at / 64] & ~((std::uint64_t{2} << at % 64) - 1);
    for (int w = at / 64; w < words; word = w + 1 < words ? bits[w + 1] : 0, ++w)
      if (word != 0) return w * 64 + std::countr_zero(word);
    return -1;
  }

  /// Sorts indices of lifetimes by merging; stable.
  template <class NotAfter>
  constexpr void sort(int* index, NotAfter not_after) const {
    AtLeastOne<int, N> merged{};
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
  AtLeastOne<std::int64_t, N> bytes_{};
  std::int64_t least_ = -1;
  int highest_ = 0, pairs_ = 0;
  AtLeastOne<std::int64_t, N> offset_{};  ///< of the best placement
  AtLeastOne<int, N> best_{}, by_end_{};
  Layout<N> result_{};
};

}  // namespace detail

/// Returns the best layout found at one batch.
template <int N>
constexpr Layout<N> find_layout(const Lifetimes<N>& lifetimes, std::int64_t reference_batch) {
  return detail::LayoutFinder<N>(lifetimes, reference_batch).result();
}

}  // namespace gradual
