#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace gradual {

/// A place where the forward pass of a tape may be cut.
struct Cut {
  int node = -1;              ///< the value behind which the cut lies
  std::int64_t saved = 0;     ///< bytes of all values up to here that backward reads
  std::int64_t crossing = 0;  ///< bytes of the values that must be kept if the tape is cut here
  std::int64_t work = 0;      ///< of computing all values up to here, in any unit
};

/// The choice of cuts to keep while forward, or a repetition of a stretch of it, runs, so that never more than `most`
/// bytes are there for backward: the kept values, and those that its current stretch saves. A stretch that does not fit is
/// cut again when it is repeated, so that any chain can do with little more than its largest link.
///
/// A stretch whose values are recomputed at most `level` times reaches as far as in Griewank and Walther's Revolve
/// (Algorithm 799, 2000), here measured in bytes: before its first cut lies a stretch of one level less in the same room,
/// behind it one of the same level in the room that the cut leaves. Each first cut is the one that costs least by these
/// reaches: the optimum for equal links, and close to it for others (tests/host/cuts_test.cpp).
class CutChoice {
 public:
  /// `cuts`: from the beginning, whose numbers are all 0, to the end, which nothing crosses. If `most` is too little for
  /// any choice, it is raised to what is enough; if less would cost no more, it is lowered.
  constexpr CutChoice(std::vector<Cut> cuts, std::int64_t most) : cuts_(std::move(cuts)), most_(most) {
    const std::int64_t wanted = cost(0, end(), most);
    if (wanted < 0) {
      most_ = least_room(most + 1, cuts_.back().saved, std::numeric_limits<std::int64_t>::max());
      return;
    }
    const std::int64_t least = least_room(0, most, wanted);
    if (least < most && repeated(0, end(), least) <= repeated(0, end(), most)) most_ = least;
  }

  constexpr const std::vector<Cut>& cuts() const { return cuts_; }
  constexpr std::size_t end() const { return cuts_.size() - 1; }
  constexpr std::int64_t most() const { return most_; }
  constexpr const Cut& operator[](std::size_t i) const { return cuts_[i]; }

  /// Returns the cuts to keep, in order, while the stretch between two cuts is computed with `room` bytes.
  constexpr std::vector<std::size_t> between(std::size_t from, std::size_t to, std::int64_t room) const {
    std::vector<std::size_t> kept;
    while (inside(from, to) > room) {
      const std::size_t next = first_cut(from, to, room);
      if (next == from) break;
      kept.push_back(next);
      room -= cuts_[next].crossing;
      from = next;
    }
    return kept;
  }

  /// Returns the work of repetitions while backward goes through a stretch.
  constexpr std::int64_t repeated(std::size_t from, std::size_t to, std::int64_t room) const {
    std::int64_t sum = 0;
    for (const std::size_t cut : between(from, to, room)) {
      sum += work(from, cut) + repeated(from, cut, room);
      room -= cuts_[cut].crossing;
      from = cut;
    }
    return sum;
  }

 private:
  /// Returns the least room, from `least` to the sufficient `enough`, in which everything costs at most `wanted`.
  constexpr std::int64_t least_room(std::int64_t least, std::int64_t enough, std::int64_t wanted) const {
    while (least < enough) {
      const std::int64_t middle = least + (enough - least) / 2, here = cost(0, end(), middle);
      if (here < 0 || here > wanted) least = middle + 1;
      else enough = middle;
    }
    return enough;
  }

  /// Returns the bytes that are there when backward comes to the stretch: all that it saves, up to the value that it ends
  /// with, over which that value's gradient lies.
  constexpr std::int64_t inside(std::size_t from, std::size_t to) const { return cuts_[to].saved - cuts_[from].saved; }
  /// Returns the work of computing the stretch again, except for the value that it ends with, which is there.
  constexpr std::int64_t work(std::size_t from, std::size_t to) const { return cuts_[to - 1].work - cuts_[from].work; }

  /// Returns how far, at most to `to`, a stretch can go if all of its values are kept.
  constexpr std::size_t reach(std::size_t from, std::size_t to, std::int64_t room) const {
    std::size_t farthest = from;
    while (farthest < to) {
      const std::size_t middle = to - (to - farthest) / 2;
      if (inside(from, middle) <= room)
        farthest = middle;
      else
        to = middle - 1;
    }
    return farthest;
  }
  /// The same if values are recomputed at most `level` times.
  constexpr std::size_t reach(int level, std::size_t from, std::size_t to, std::int64_t room) const {
    if (level == 0) return reach(from, to, room);
    std::size_t farthest = from;
    for (;;) {
      std::size_t next = reach(level - 1, from, to, room);
      farthest = farthest < next ? next : farthest;
      while (next > from && cuts_[next].crossing > room) --next;
      if (farthest == to || next == from) return farthest;
      room -= cuts_[next].crossing;
      from = next;
    }
  }

  /// Estimates `repeated`, or returns −1 if there is too little room: what each level fails to reach is computed once
  /// more, which is exact for equal links.
  constexpr std::int64_t cost(std::size_t from, std::size_t to, std::int64_t room) const {
    std::int64_t sum = 0;
    std::size_t before = from;
    for (int level = 0;; ++level) {
      std::size_t here = reach(level, from, to, room);
      if (here == to) return sum;
      if (here == before) return -1;
      before = here;
      if (level == 0)
        while (here > from && cuts_[to - 1].saved - cuts_[here].saved < inside(from, to) - room) --here;
      else if (to != end())
        --here;
      sum += work(here, to);
    }
  }

  /// Returns the cheapest of 24 cuts, one in each part of the stretch, at which least crosses. If none of them is possible,
  /// returns the cheapest of all; if none is, `from`.
  constexpr std::size_t first_cut(std::size_t from, std::size_t to, std::int64_t room) const {
    const std::size_t part = (to - from + 23) / 24, cut = cheapest(from, to, room, part);
    return cut == from && part > 1 ? cheapest(from, to, room, 1) : cut;
  }
  /// Returns the cheapest of the cuts at which least crosses among each `part` places; `from` if none is possible.
  constexpr std::size_t cheapest(std::size_t from, std::size_t to, std::int64_t room, std::size_t part) const {
    std::size_t best = from;
    std::int64_t least = 0;
    for (std::size_t first = from + 1; first < to; first += part) {
      std::size_t cut = first;
      for (std::size_t c = first; c < first + part && c < to; ++c)
        if (cuts_[c].crossing <= cuts_[cut].crossing) cut = c;
      const std::int64_t rest = room - cuts_[cut].crossing;
      const std::int64_t right = rest < 0 ? -1 : cost(cut, to, rest), left = right < 0 ? -1 : cost(from, cut, room);
      if (left < 0) continue;
      const std::int64_t all = work(from, cut) + left + right;
      if (best == from || all <= least) best = cut, least = all;
    }
    return best;
  }

  std::vector<Cut> cuts_;
  std::int64_t most_;
};

}  // namespace gradual
