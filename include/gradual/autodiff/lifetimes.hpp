#pragma once
#include <gradual/autodiff/fuse.hpp>
#include <gradual/core/alignment.hpp>

namespace gradual {

/// One piece of the transient block: bytes for each sample (or in all), alive from one kernel to another.
struct Lifetime {
  std::int64_t unit = 0;
  bool batched = false;
  int begin = 0, end = 0;
  constexpr std::int64_t bytes(std::int64_t batch) const { return aligned(unit * (batched ? batch : 1)); }
  constexpr bool meets(const Lifetime& other) const { return begin <= other.end && other.begin <= end; }
};

/// The contents of a program's transient block, in order of birth.
template <int N>
struct Lifetimes {
  int count = 0;
  AtLeastOne<Lifetime, N> lifetimes{};
  AtLeastOne<int, N> lifetime_of{};  ///< by node; −1: not in this block

  /// Returns a lower bound on the bytes of any plan: the largest sum of bytes alive at once.
  constexpr std::int64_t lower_bound(std::int64_t batch) const {
    std::int64_t change[N + 2]{};
    for (int i = 0; i < count; ++i) {
      const std::int64_t bytes = lifetimes[i].bytes(batch);
      change[lifetimes[i].begin] += bytes;
      change[lifetimes[i].end + 1] -= bytes;
    }
    std::int64_t most = 0, alive = 0;
    for (const std::int64_t bytes : change) {
      alive += bytes;
      most = most < alive ? alive : most;
    }
    return most;
  }
};

namespace detail {

template <int N>
class LifetimeFinder {
 public:
  template <Counts C>
  constexpr LifetimeFinder(const Graph<C>& graph, const Schedule<N>& schedule)
      : nodes_(graph.nodes), schedule_(schedule) {
    for (int i = 0; i < N; ++i) {
      result_.lifetime_of[i] = -1;
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
  }
  constexpr const Lifetimes<N>& result() const { return result_; }

 private:
  /// Whether a value lies in the transient block: results, parameters, sums over samples and values derived once per window
  /// have places of their own.
  constexpr bool transient(int i) const {
    const Node& node = nodes_[i];
    if (schedule_.storage[i] != i || node.op->kind == Kind::input || given_[i]) return false;
    if (is_sample_sum(node.op->kind)) return false;
    return schedule_.phase[i] != Phase::prologue;
  }

  constexpr void find_last_uses() {
    for (int i = 0; i < N; ++i) {
      const int g = schedule_.group_of[i];
      if (g < 0) continue;
      for (int k = 0; k < nodes_[i].op->arity; ++k) use(nodes_[i].in[k], g);
    }
  }
  /// Records that kernel g reads a value, through reshapes and views.
  constexpr void use(int source, int g) {
    while (schedule_.group_of[source] < 0 && nodes_[source].op->arity > 0) {
      if (nodes_[source].op->kind == Kind::uses) use(nodes_[source].in[1], g);
      source = nodes_[source].in[0];
    }
    if (last_use_[source] < g) last_use_[source] = g;
  }

  /// Returns the value whose memory `node` may take over: one that this kernel reads for the last time, element by element, and
  /// loads before `node` is stored; −1 if there is none.
  constexpr int replaces(int node, int g) const {
    const Kind kind = nodes_[node].op->kind;
    if (schedule_.groups[g].kind != Kind::map || kind == Kind::row_reduce || recomputed(kind)) return -1;
    const int source = last_read(node, g);
    return source >= 0 && reads_elsewhere(g, source) ? -1 : source;
  }
  /// Returns a value that kernel g reads for the last time, no later than it stores `node`, which fits over it; or −1.
  constexpr int last_read(int node, int g) const {
    const Group& group = schedule_.groups[g];
    for (int m = 0; m < group.count; ++m) {
      const int member = schedule_.members[group.first + m];
      if (member > node || recomputed(nodes_[member].op->kind)) continue;
      for (int k = 0; k < nodes_[member].op->arity; ++k) {
        const int operand = nodes_[member].in[k], source = schedule_.storage[operand];
        if (!viewed(operand) && fits_over(node, source, g)) return source;
      }
    }
    return -1;
  }
  /// Whether kernel g reads a value through a view, or stores a view of it: at other places than the value's own.
  constexpr bool reads_elsewhere(int g, int value) const {
    const Group& group = schedule_.groups[g];
    for (int m = 0; m < group.count; ++m) {
      const Node& member = nodes_[schedule_.members[group.first + m]];
      for (int k = 0; k < member.op->arity; ++k) {
        const bool view = viewed(member.in[k]);
        const int source = view ? nodes_[member.in[k]].in[0] : member.in[k];
        if ((view || recomputed(member.op->kind)) && schedule_.storage[source] == value) return true;
      }
    }
    return false;
  }
  constexpr bool viewed(int operand) const {
    return nodes_[operand].op->arity > 0 && recomputed(nodes_[operand].op->kind) && schedule_.group_of[operand] < 0;
  }
  constexpr bool fits_over(int node, int source, int g) const {
    const int life = source < 0 ? -1 : result_.lifetime_of[source];
    return life >= 0 && result_.lifetimes[life].end == g && result_.lifetimes[life].begin < g &&
           nodes_[source].dtype == nodes_[node].dtype && nodes_[source].shape.unit() == nodes_[node].shape.unit() &&
           nodes_[source].shape.batched() == nodes_[node].shape.batched();
  }

  constexpr void add(int node, int group) {
    if (!transient(node)) return;
    const int last = last_use_[node] > group ? last_use_[node] : group;
    if (const int before = replaces(node, group); before >= 0 && last > group) {
      result_.lifetime_of[node] = result_.lifetime_of[before];
      result_.lifetimes[result_.lifetime_of[node]].end = last;
      return;
    }
    const int id = result_.count++;
    result_.lifetime_of[node] = id;
    Lifetime& life = result_.lifetimes[id];
    life.unit = nodes_[node].shape.unit() * size_of(nodes_[node].dtype);
    if (life.unit == 0) life.unit = 1;  // so that no two lie at one place
    life.batched = nodes_[node].shape.batched();
    life.begin = group;
    life.end = last;
  }

  const Node* nodes_;
  const Schedule<N>& schedule_;
  Lifetimes<N> result_{};
  AtLeastOne<bool, N> given_{};
  AtLeastOne<int, N> last_use_{};
};

}  // namespace detail

/// Finds the values that need memory in the transient block, and from which kernel to which. Near linear.
template <Counts C>
constexpr Lifetimes<C.nodes> find_lifetimes(const Graph<C>& graph, const Schedule<C.nodes>& schedule) {
  return detail::LifetimeFinder<C.nodes>(graph, schedule).result();
}

}  // namespace gradual
