#pragma once
#include <gradual/autodiff/fuse.hpp>

namespace gradual {

inline constexpr std::int64_t alignment = 64;  ///< every buffer starts on a cache line
constexpr std::int64_t aligned(std::int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

/// One piece of the transient block: bytes for each sample (or in all), alive from one kernel to another.
struct Lifetime {
  std::int64_t unit = 0;
  bool batched = false;
  int begin = 0, end = 0;
  constexpr std::int64_t bytes(std::int64_t batch) const { return aligned(unit * (batched ? batch : 1)); }
  constexpr bool meets(const Lifetime& other) const { return begin <= other.end && other.begin <= end; }
};

/// Who lies on whom, found by placing lifetimes at a reference batch. Kept at every batch, so that offsets are maxima
/// of affine functions of the batch, and bytes are monotone in it.
template <int N>
struct Layout {
  std::int64_t reference[N > 0 ? N : 1]{};  ///< offsets at the reference batch
  int below[N > 0 ? N : 1]{};               ///< the neighbour below when it was placed, or −1
  int above[N > 0 ? N : 1]{};               ///< the neighbour above when it was placed, or −1
  int order[N > 0 ? N : 1]{};               ///< by rising reference offset
};

/// Where every value of the transient block lies, for any batch: the better of two layouts.
template <int N>
struct TransientPlan {
  int count = 0;
  Lifetime lifetimes[N > 0 ? N : 1]{};
  Layout<N> layouts[2]{};
  int lifetime_of[N > 0 ? N : 1]{};  ///< by node; −1: not in this block

  /// Writes the offset of each lifetime and returns the block's bytes.
  constexpr std::int64_t offsets(std::int64_t batch, std::int64_t* offset) const {
    const bool second = offsets(layouts[1], batch, offset) < offsets(layouts[0], batch, offset);
    return offsets(layouts[second ? 1 : 0], batch, offset);
  }
  constexpr std::int64_t bytes(std::int64_t batch) const {
    std::int64_t offset[N > 0 ? N : 1]{};
    return offsets(batch, offset);
  }
  /// The least that any plan could do: the largest sum of bytes alive at once.
  constexpr std::int64_t lower_bound(std::int64_t batch) const {
    std::int64_t most = 0;
    for (int i = 0; i < count; ++i) {
      std::int64_t alive = 0;
      for (int k = 0; k < count; ++k)
        if (lifetimes[k].begin <= lifetimes[i].begin && lifetimes[k].end >= lifetimes[i].begin)
          alive += lifetimes[k].bytes(batch);
      raise(most, alive);
    }
    return most;
  }

 private:
  static constexpr void raise(std::int64_t& value, std::int64_t least) { value = value < least ? least : value; }
  constexpr std::int64_t offsets(const Layout<N>& layout, std::int64_t batch, std::int64_t* offset) const {
    for (int i = 0; i < count; ++i) offset[i] = 0;
    std::int64_t total = 0;
    for (int k = 0; k < count; ++k) {
      const int here = layout.order[k], below = layout.below[here], above = layout.above[here];
      if (below >= 0) raise(offset[here], offset[below] + lifetimes[below].bytes(batch));
      const std::int64_t top = offset[here] + lifetimes[here].bytes(batch);
      if (above >= 0) raise(offset[above], top);
      raise(total, top);
    }
    return total;
  }
};

namespace detail {

template <int N>
class Planner {
 public:
  template <Counts C>
  constexpr Planner(const Graph<C>& graph, const Schedule<N>& schedule, std::int64_t reference_batch)
      : nodes_(graph.nodes), schedule_(schedule), batch_(reference_batch) {
    for (int i = 0; i < N; ++i) {
      plan_.lifetime_of[i] = -1;
      last_use_[i] = -1;
    }
    find_last_uses();
    for (int r = 0; r < C.roots; ++r) {
      const int s = schedule.storage[graph.roots[r].node];
      const Role role = graph.roots[r].role;
      last_use_[s] = schedule.group_count;
      given_[s] = role == Role::gradient || role == Role::value || role == Role::prediction;
    }
    for (int g = 0; g < schedule.group_count; ++g)
      for (int m = 0; m < schedule.groups[g].count; ++m) add(schedule.members[schedule.groups[g].first + m], g);
    int sequence[N > 0 ? N : 1]{};
    for (int i = 0; i < plan_.count; ++i) sequence[i] = i;
    place(plan_.layouts[0], sequence);  // in order of birth
    sort(sequence, [this](int a, int b) { return plan_.lifetimes[a].end >= plan_.lifetimes[b].end; });
    place(plan_.layouts[1], sequence);  // from the last to die to the first
  }
  constexpr const TransientPlan<N>& plan() const { return plan_; }

 private:
  /// Results have places of their own, and so have parameters, cuts and what is derived once per window; the rest
  /// comes and goes.
  constexpr bool transient(int i) const {
    const Node& node = nodes_[i];
    if (schedule_.storage[i] != i || node.op->kind == Kind::input || given_[i]) return false;
    if (node.op->kind == Kind::batch_reduce || node.op->kind == Kind::batch_contract) return false;
    return schedule_.phase[i] != Phase::prologue;
  }

  constexpr void find_last_uses() {
    for (int i = 0; i < N; ++i) {
      const int g = schedule_.group_of[i];
      if (g < 0) continue;
      for (int k = 0; k < nodes_[i].op->arity; ++k) {
        int source = nodes_[i].in[k];
        while (schedule_.group_of[source] < 0 && nodes_[source].op->arity == 1) source = nodes_[source].in[0];
        if (last_use_[source] < g) last_use_[source] = g;
      }
    }
  }

  /// The value whose memory `node` may take over: read for the last time by this kernel, element by element, and
  /// loaded before `node` is stored. −1 where there is none.
  constexpr int replaces(int node, int g) const {
    const Group& group = schedule_.groups[g];
    const Kind kind = nodes_[node].op->kind;
    if (group.kind != Kind::map || kind == Kind::row_reduce || recomputed(kind)) return -1;
    int found = -1;
    for (int m = 0; m < group.count && found < 0; ++m) {
      const int member = schedule_.members[group.first + m];
      if (member > node || recomputed(nodes_[member].op->kind)) continue;
      for (int k = 0; k < nodes_[member].op->arity && found < 0; ++k)
        if (!viewed(nodes_[member].in[k]) && fits_over(node, schedule_.storage[nodes_[member].in[k]], g))
          found = schedule_.storage[nodes_[member].in[k]];
    }
    for (int m = 0; m < group.count && found >= 0; ++m) {  // other elements of it must not be read here
      const Node& member = nodes_[schedule_.members[group.first + m]];
      for (int k = 0; k < member.op->arity; ++k)
        if (viewed(member.in[k]) && schedule_.storage[nodes_[member.in[k]].in[0]] == found) return -1;
    }
    return found;
  }
  constexpr bool viewed(int operand) const {
    return nodes_[operand].op->arity > 0 && recomputed(nodes_[operand].op->kind) && schedule_.group_of[operand] < 0;
  }
  constexpr bool fits_over(int node, int source, int g) const {
    const int life = source < 0 ? -1 : plan_.lifetime_of[source];
    return life >= 0 && plan_.lifetimes[life].end == g && plan_.lifetimes[life].begin < g &&
           nodes_[source].dtype == nodes_[node].dtype && nodes_[source].shape.unit() == nodes_[node].shape.unit() &&
           nodes_[source].shape.batched() == nodes_[node].shape.batched();
  }

  constexpr void add(int node, int group) {
    if (!transient(node)) return;
    const int last = last_use_[node] > group ? last_use_[node] : group;
    if (const int before = replaces(node, group); before >= 0 && last > group) {
      plan_.lifetime_of[node] = plan_.lifetime_of[before];
      plan_.lifetimes[plan_.lifetime_of[node]].end = last;
      return;
    }
    const int id = plan_.count++;
    plan_.lifetime_of[node] = id;
    Lifetime& life = plan_.lifetimes[id];
    life.unit = nodes_[node].shape.unit() * static_cast<std::int64_t>(size_of(nodes_[node].dtype));
    life.batched = nodes_[node].shape.batched();
    life.begin = group;
    life.end = last;
  }

  /// First fit, in the given sequence, among those placed before that are alive at the same time.
  constexpr void place(Layout<N>& layout, const int* sequence) {
    int alive[N > 0 ? N : 1]{}, count = 0;  // by rising offset
    for (int s = 0; s < plan_.count; ++s) {
      const int id = sequence[s];
      const Lifetime& life = plan_.lifetimes[id];
      int kept = 0;
      for (int k = 0; k < count; ++k)
        if (plan_.lifetimes[alive[k]].meets(life)) alive[kept++] = alive[k];
      count = kept;
      int at = 0;
      std::int64_t offset = 0;
      for (; at < count && layout.reference[alive[at]] < offset + life.bytes(batch_); ++at)
        offset = layout.reference[alive[at]] + plan_.lifetimes[alive[at]].bytes(batch_);
      layout.reference[id] = offset;
      layout.below[id] = at > 0 ? alive[at - 1] : -1;
      layout.above[id] = at < count ? alive[at] : -1;
      for (int k = count++; k > at; --k) alive[k] = alive[k - 1];
      alive[at] = id;
      layout.order[s] = s;
    }
    sort(layout.order, [&layout](int a, int b) { return layout.reference[a] <= layout.reference[b]; });
  }

  /// Merge sort of indices of lifetimes; stable.
  template <class NotAfter>
  constexpr void sort(int* index, NotAfter not_after) const {
    int merged[N > 0 ? N : 1]{};
    for (int width = 1; width < plan_.count; width *= 2) {
      for (int left = 0; left < plan_.count; left += 2 * width) {
        const int middle = left + width < plan_.count ? left + width : plan_.count;
        const int right = middle + width < plan_.count ? middle + width : plan_.count;
        for (int a = left, b = middle, out = left; out < right; ++out)
          merged[out] = index[b >= right || (a < middle && not_after(index[a], index[b])) ? a++ : b++];
      }
      for (int i = 0; i < plan_.count; ++i) index[i] = merged[i];
    }
  }

  const Node* nodes_;
  const Schedule<N>& schedule_;
  std::int64_t batch_;
  TransientPlan<N> plan_{};
  bool given_[N > 0 ? N : 1]{};
  int last_use_[N > 0 ? N : 1]{};
};

}  // namespace detail

/// Plans the transient block of a graph. Near linear in its size.
template <Counts C>
constexpr TransientPlan<C.nodes> plan_transient(const Graph<C>& graph, const Schedule<C.nodes>& schedule) {
  return detail::Planner<C.nodes>(graph, schedule, 64).plan();
}

}  // namespace gradual
