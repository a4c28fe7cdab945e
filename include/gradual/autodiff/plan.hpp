#pragma once
#include <gradual/autodiff/fuse.hpp>

namespace gradual {

inline constexpr std::int64_t alignment = 64;  ///< every buffer starts on a cache line
constexpr std::int64_t aligned(std::int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

/// One piece of the transient block: bytes for each sample (or in all), alive between two kernels.
struct Lifetime {
  std::int64_t unit = 0;
  bool batched = false;
  int begin = 0, end = 0;
  std::int64_t reference = 0;      ///< offset at the reference batch; orders the constraints
  int below = -1;                  ///< the neighbour that this one must lie above
  int above = -1;                  ///< the neighbour that must lie above this one
  constexpr std::int64_t bytes(std::int64_t batch) const { return aligned(unit * (batched ? batch : 1)); }
};

/// Where every value of the transient block lies, for any batch. Placed once at a reference batch; what was below what
/// there stays so at every batch, so offsets are maxima of affine functions and bytes are monotone in the batch.
template <int N>
struct TransientPlan {
  int count = 0;
  Lifetime lifetimes[N > 0 ? N : 1]{};
  int order[N > 0 ? N : 1]{};    ///< lifetimes by rising reference offset
  int lifetime_of[N > 0 ? N : 1]{};  ///< by node; −1: not in this block

  /// Writes the offset of each lifetime and returns the block's bytes.
  constexpr std::int64_t offsets(std::int64_t batch, std::int64_t* offset) const {
    for (int i = 0; i < count; ++i) offset[i] = 0;
    std::int64_t total = 0;
    for (int k = 0; k < count; ++k) {
      const Lifetime& here = lifetimes[order[k]];
      if (here.below >= 0) raise(offset[order[k]], offset[here.below] + lifetimes[here.below].bytes(batch));
      const std::int64_t top = offset[order[k]] + here.bytes(batch);
      if (here.above >= 0) raise(offset[here.above], top);
      raise(total, top);
    }
    return total;
  }
  constexpr std::int64_t bytes(std::int64_t batch) const {
    std::int64_t offset[N > 0 ? N : 1]{};
    return offsets(batch, offset);
  }
  /// The least any plan could do: the largest sum of bytes alive at once.
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
    for (int g = 0; g < schedule.group_count; ++g) {
      for (int m = 0; m < schedule.groups[g].count; ++m) place(schedule.members[schedule.groups[g].first + m], g);
      release(g);
    }
    sort_by_reference();
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

  constexpr void place(int node, int group) {
    if (!transient(node)) return;
    const int id = plan_.count++;
    plan_.lifetime_of[node] = id;
    Lifetime& life = plan_.lifetimes[id];
    life.unit = nodes_[node].shape.unit() * static_cast<std::int64_t>(size_of(nodes_[node].dtype));
    life.batched = nodes_[node].shape.batched();
    life.begin = group;
    life.end = last_use_[node] > group ? last_use_[node] : group;
    // First fit among those alive, which are kept in order of their offsets.
    int at = 0;
    std::int64_t offset = 0;
    for (; at < alive_count_; ++at) {
      const Lifetime& other = plan_.lifetimes[alive_[at]];
      if (other.reference >= offset + life.bytes(batch_)) break;
      offset = other.reference + other.bytes(batch_);
    }
    life.reference = offset;
    if (at > 0) life.below = alive_[at - 1];
    if (at < alive_count_) life.above = alive_[at];
    for (int k = alive_count_++; k > at; --k) alive_[k] = alive_[k - 1];
    alive_[at] = id;
  }

  constexpr void release(int group) {
    int kept = 0;
    for (int k = 0; k < alive_count_; ++k)
      if (plan_.lifetimes[alive_[k]].end > group) alive_[kept++] = alive_[k];
    alive_count_ = kept;
  }

  /// Merge sort of lifetimes by reference offset; equal offsets keep their order.
  constexpr void sort_by_reference() {
    int other[N > 0 ? N : 1]{};
    for (int i = 0; i < plan_.count; ++i) plan_.order[i] = i;
    for (int width = 1; width < plan_.count; width *= 2) {
      for (int left = 0; left < plan_.count; left += 2 * width) {
        int middle = left + width < plan_.count ? left + width : plan_.count;
        int right = middle + width < plan_.count ? middle + width : plan_.count;
        for (int a = left, b = middle, out = left; out < right; ++out) {
          bool take_a = b >= right || (a < middle && plan_.lifetimes[plan_.order[a]].reference <=
                                                         plan_.lifetimes[plan_.order[b]].reference);
          other[out] = plan_.order[take_a ? a++ : b++];
        }
      }
      for (int i = 0; i < plan_.count; ++i) plan_.order[i] = other[i];
    }
  }

  const Node* nodes_;
  const Schedule<N>& schedule_;
  std::int64_t batch_;
  TransientPlan<N> plan_{};
  bool given_[N > 0 ? N : 1]{};
  int last_use_[N > 0 ? N : 1]{};
  int alive_[N > 0 ? N : 1]{};
  int alive_count_ = 0;
};

}  // namespace detail

/// Plans the transient block of a graph. Near linear in its size.
template <Counts C>
constexpr TransientPlan<C.nodes> plan_transient(const Graph<C>& graph, const Schedule<C.nodes>& schedule) {
  return detail::Planner<C.nodes>(graph, schedule, 64).plan();
}

}  // namespace gradual
