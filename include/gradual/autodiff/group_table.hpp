#pragma once
#include <utility>

#include <gradual/autodiff/fuse.hpp>

namespace gradual {

/// `Make<G>::value` for every kernel group G of program P, made in chunks: clang's limit on nested folds is 256.
template <class P, class Entry, template <int> class Make>
class GroupTable {
  static constexpr int count = P::schedule.group_count;

 public:
  constexpr GroupTable() { fill(); }
  constexpr const Entry& operator[](int group) const { return entry_[group]; }

 private:
  template <int First = 0>
  constexpr void fill() {
    constexpr int chunk = count - First < 64 ? count - First : 64;
    fill_chunk<First>(std::make_integer_sequence<int, chunk>{});
    if constexpr (First + chunk < count) fill<First + chunk>();
  }
  template <int First, int... I>
  constexpr void fill_chunk(std::integer_sequence<int, I...>) {
    ((entry_[First + I] = Make<First + I>::value), ...);
  }
  AtLeastOne<Entry, count> entry_{};
};

/// Returns the first kernel group of a phase; groups are sorted by phase.
template <class P>
constexpr int first_group_of(int phase) {
  int g = 0;
  while (g < P::schedule.group_count && static_cast<int>(P::schedule.groups[g].phase) < phase) ++g;
  return g;
}

}  // namespace gradual
