#pragma once
#include <gradual/autodiff/joins.hpp>

namespace gradual {

/// When a node is computed: once per window from parameters alone; per micro-batch forward or backward; once at the
/// window's end from the accumulated sums.
enum class Phase : unsigned char { prologue, forward, backward, boundary };
inline constexpr int phase_count = 4;

/// One kernel: a loop over rows × columns of one domain that computes its members in registers, or one op that stands alone.
struct Group {
  Kind kind = Kind::map;  ///< map (a loop, with or without reductions), or the kind of its only op
  Phase phase = Phase::forward;
  int first = 0, count = 0;    ///< members, in `Schedule::members`
  Shape domain;                ///< without axes of extent 1
  int column_axes = -1;        ///< axes of the domain inside one row, fixed by reductions; −1 where any split will do
  int most_column_axes = max_rank;  ///< limited by joins, each row of which lies in one piece
  int pieces = 0;                   ///< of all joins
  bool row_reduces = false, batch_reduces = false;

  /// Whether this loop can take in the members of `other`, by domain, phase, rows and number of addresses.
  constexpr bool fits(const Group& other) const {
    const int most = other.most_column_axes < most_column_axes ? other.most_column_axes : most_column_axes;
    return kind == Kind::map && phase == other.phase && domain == other.domain && column_axes <= most &&
           other.column_axes <= most && (column_axes < 0 || other.column_axes < 0 || column_axes == other.column_axes) &&
           pieces + other.pieces <= most_pieces;
  }
  /// Adds the constraints of the members of `other`, which fits.
  constexpr void take(const Group& other) {
    if (other.column_axes >= 0) column_axes = other.column_axes;
    if (other.most_column_axes < most_column_axes) most_column_axes = other.most_column_axes;
    pieces += other.pieces;
  }
};

/// Which kernel computes which node, in order, and which nodes need memory.
template <int N>
struct Schedule {
  int group_count = 0;
  AtLeastOne<Group, N> groups{};
  AtLeastOne<int, N> members{};
  AtLeastOne<int, N> group_of{};  ///< −1: inputs, and nodes that are recomputed wherever they are used
  AtLeastOne<int, N> storage{};   ///< the node whose memory holds this one (reshapes share), or −1: never stored
  AtLeastOne<int, N> join{};      ///< for a part of a join, that join, which may be the node itself; else −1
  AtLeastOne<Phase, N> phase{};

  constexpr bool is_inside_join(int i) const { return join[i] >= 0 && join[i] != i; }
};

inline constexpr int max_members = 48;  ///< of a kernel: bounds registers and the depth of folds

constexpr Shape squeeze(const Shape& shape) {
  Shape result;
  for (int i = 0; i < shape.rank; ++i) {
    if (shape.extent[i] == 1 && i != shape.batch_axis) continue;
    if (i == shape.batch_axis) result.batch_axis = result.rank;
    result.extent[result.rank++] = shape.extent[i];
  }
  return result;
}

namespace detail {

/// Returns how many axes of a shape, from axis `from` on, remain when it is squeezed.
constexpr int axes_kept(const Shape& shape, int from) {
  int count = 0;
  for (int i = from; i < shape.rank; ++i) count += shape.extent[i] != 1 || i == shape.batch_axis;
  return count;
}

/// Whether each kernel that reads such a node recomputes it: constants, indices, random numbers and strided views.
constexpr bool recomputed(Kind kind) {
  return kind == Kind::constant || kind == Kind::iota || kind == Kind::random || kind == Kind::broadcast ||
         kind == Kind::transpose || kind == Kind::slice || kind == Kind::pad || kind == Kind::uses;
}

/// Returns the node behind reshapes that only add or remove axes of extent 1.
constexpr int behind(const Node* nodes, int i) {
  while (nodes[i].op->kind == Kind::reshape && squeeze(nodes[i].shape) == squeeze(nodes[nodes[i].in[0]].shape))
    i = nodes[i].in[0];
  return i;
}

template <int N>
class Fuser {
 public:
  template <Counts C>
  constexpr explicit Fuser(const Graph<C>& graph) : nodes_(graph.nodes), first_adjoint_(graph.first_adjoint) {
    find_phases();
    for (int i = 0; i < N; ++i)
      if (needs_memory(nodes_[i].op->kind))
        for (int k = 0; k < nodes_[i].op->arity; ++k) force(nodes_[i].in[k]);
    for (int r = 0; r < C.roots; ++r) force(graph.roots[r].node);
    for (int i = 0; i < N; ++i) result_.group_of[i] = result_.storage[i] = -1;
    JoinFinder<N>(nodes_, forced_).find(result_.join);
    find_waiting(graph);
    for (int p = 0; p < phase_count; ++p) {  // scalars computed from scalars alone go first, so that they split no loop
      for (int i = 0; i < N; ++i)
        if (static_cast<int>(result_.phase[i]) == p && computed(i) && scalar_[i]) place(i);
      for (int i = 0; i < N; ++i)
        if (static_cast<int>(result_.phase[i]) == p && computed(i) && !scalar_[i] && !waits_[i]) place_or_leave(i);
    }
    collect_members();
    find_storage();
    for (int r = 0; r < C.roots; ++r) store(graph.roots[r].node);
  }

  constexpr const Schedule<N>& result() const { return result_; }

 private:
  constexpr bool computed(int i) const {
    Kind kind = nodes_[i].op->kind;
    return kind != Kind::input && kind != Kind::reshape && (!recomputed(kind) || forced_[i]);
  }
  static constexpr bool needs_memory(Kind kind) {
    return stands_alone(kind) || recomputed(kind) || kind == Kind::reshape;
  }
  static constexpr bool reduces(Kind kind) { return kind == Kind::row_reduce || kind == Kind::batch_reduce; }

  constexpr void force(int i) {
    while (nodes_[i].op->kind == Kind::reshape) i = nodes_[i].in[0];
    forced_[i] = nodes_[i].op->kind != Kind::uses;  // the rows of `uses` are read where they lie
  }

  constexpr void find_phases() {
    const bool learns = first_adjoint_ < N;
    AtLeastOne<bool, N> varies{}, of_sum{}, drawn{};
    for (int i = 0; i < N; ++i) {
      const Node& node = nodes_[i];
      varies[i] = node.shape.batched();
      drawn[i] = node.op->kind == Kind::random;
      scalar_[i] = node.shape.unit() == 1 && !node.shape.batched();
      for (int k = 0; k < node.op->arity; ++k) {
        varies[i] = varies[i] || varies[node.in[k]];
        of_sum[i] = of_sum[i] || of_sum[node.in[k]];
        drawn[i] = drawn[i] || drawn[node.in[k]];
        scalar_[i] = scalar_[i] && scalar_[node.in[k]];
      }
      if (varies[i] && !node.shape.batched()) {
        varies[i] = false;
        of_sum[i] = true;
        result_.phase[i] = Phase::backward;
      } else if (varies[i]) {
        result_.phase[i] = i < first_adjoint_ ? Phase::forward : Phase::backward;
      } else if (drawn[i] && !learns) {
        result_.phase[i] = Phase::forward;  // each prediction may draw other numbers
      } else {
        result_.phase[i] = of_sum[i] || i >= first_adjoint_ ? Phase::boundary : Phase::prologue;
      }
    }
    for (int i = N - 1; i >= first_adjoint_; --i)  // samples may read what a derivative computes of parameters alone
      for (int k = 0; k < nodes_[i].op->arity; ++k)
        if (Phase& read = result_.phase[nodes_[i].in[k]]; read == Phase::boundary && result_.phase[i] != Phase::boundary)
          read = Phase::prologue;
  }

  /// Makes nodes wait for their reader's kernel: those that depend on one stored value and have one reader, in the same domain
  /// and phase. Computed earlier, they would take memory next to that value, as a derivative would next to its activation.
  template <Counts C>
  constexpr void find_waiting(const Graph<C>& graph) {
    AtLeastOne<int, N> readers{}, reader{}, made_of{};
    for (int i = 0; i < N; ++i)
      for (int k = 0; k < nodes_[i].op->arity; ++k) {
        const int in = nodes_[i].in[k];
        readers[in] += readers[in] == 0 || reader[in] != i;
        reader[in] = i;
      }
    for (int r = 0; r < C.roots; ++r) ++readers[graph.roots[r].node];
    for (int i = 0; i < N; ++i) {
      made_of[i] = i;
      together_[i] = 1;
      for (int k = 0; k < nodes_[i].op->arity; ++k) {
        const int in = nodes_[i].in[k], source = behind(nodes_, in);
        if (waits_[source] && (k == 0 || in != nodes_[i].in[k - 1])) together_[i] += together_[source];
      }
      const bool may_wait =
          nodes_[i].op->kind == Kind::map && readers[i] == 1 && !forced_[i] && !scalar_[i] && result_.join[i] < 0;
      if (!may_wait || together_[i] > max_members / 4) continue;
      const int source = source_of(i, made_of);
      if (source == several) continue;
      const Kind next = nodes_[reader[i]].op->kind;
      waits_[i] = (next == Kind::map || reduces(next)) && result_.phase[reader[i]] == result_.phase[i];
      if (waits_[i]) made_of[i] = source;
    }
  }
  static constexpr int none = -1, several = -2;
  /// Returns the stored value that all operands of a node depend on, `none` or `several`; `made_of`: that of waiting nodes.
  constexpr int source_of(int i, const int* made_of) const {
    int source = none;
    for (int k = 0; k < nodes_[i].op->arity; ++k) {
      const int in = behind(nodes_, nodes_[i].in[k]), from = made_of[in];
      const Kind kind = nodes_[in].op->kind;
      if (from == none || (!computed(in) && kind != Kind::input && kind != Kind::transpose)) continue;
      if (source != none && source != from) return several;
      source = from;
    }
    return source;
  }

  /// Returns the first group in which operand `o` of a node can be read; a stored view reads it `from_memory`.
  constexpr int ready(int o, bool from_memory) const {
    int source = behind(nodes_, o);
    if (waits_[source]) return earliest(source);
    if (result_.is_inside_join(source)) return join_ready_[source];
    if (computed(source)) return result_.group_of[source] + (in_registers(source) && !from_memory ? 0 : 1);
    if (nodes_[source].op->kind == Kind::uses) {
      const int first = ready(nodes_[source].in[0], true), rest = ready(nodes_[source].in[1], true);
      return first < rest ? rest : first;
    }
    while (nodes_[source].op->arity == 1 && !computed(source)) source = nodes_[source].in[0];
    return computed(source) ? result_.group_of[source] + 1 : 0;
  }
  constexpr bool in_registers(int i) const {
    Kind kind = nodes_[i].op->kind;
    return !reduces(kind) && !stands_alone(kind);
  }

  /// Returns the first group in which all operands of a node can be read.
  constexpr int earliest(int i) const {
    int latest = 0;
    for (int k = 0; k < nodes_[i].op->arity; ++k) {
      const int at = ready(nodes_[i].in[k], recomputed(nodes_[i].op->kind));
      latest = at > latest ? at : latest;
    }
    return latest;
  }

  /// Places a node, unless it is inside a join: that belongs to the join's kernel.
  constexpr void place_or_leave(int i) {
    if (result_.is_inside_join(i)) join_ready_[i] = earliest(i);
    else place(i);
  }

  constexpr void place(int i) {
    const Group wanted = alone(i);
    const int first = earliest(i), end = result_.group_count;
    for (int g = end - 1; wanted.kind == Kind::map && g >= first && g >= end - groups_looked_at; --g) {
      Group& group = result_.groups[g];
      if (group.count + together_[i] > max_members || !group.fits(wanted)) continue;
      group.take(wanted);
      return add(g, i);
    }
    result_.groups[result_.group_count++] = wanted;
    add(end, i);
  }
  static constexpr int groups_looked_at = 8;  ///< only the last ones, so that time stays linear

  /// Returns a kernel for one node alone.
  constexpr Group alone(int i) const {
    const Node& node = nodes_[i];
    const Kind kind = node.op->kind;
    Group group;
    group.phase = result_.phase[i];
    if (stands_alone(kind)) {
      group.kind = kind;
      return group;
    }
    const Shape& over = reduces(kind) ? nodes_[node.in[0]].shape : node.shape;
    group.domain = squeeze(over);
    const int split = static_cast<int>(node.attributes.integer[0]);
    if (kind == Kind::row_reduce) group.column_axes = axes_kept(over, over.rank - split);
    if (kind == Kind::batch_reduce) group.column_axes = axes_kept(over, split);
    if (result_.join[i] == i) {
      group.most_column_axes = axes_kept(over, join_axis(nodes_, i) + 1);
      group.pieces = 1;
      for (int part = 0; part <= i; ++part) group.pieces += result_.join[part] == i;
    }
    return group;
  }

  constexpr void add(int g, int i) {
    for (int k = 0; k < nodes_[i].op->arity; ++k)
      if (const int in = nodes_[i].in[k]; waits_[in] && result_.group_of[in] < 0) add(g, in);
    result_.group_of[i] = g;
    ++result_.groups[g].count;
    result_.groups[g].row_reduces |= nodes_[i].op->kind == Kind::row_reduce;
    result_.groups[g].batch_reduces |= nodes_[i].op->kind == Kind::batch_reduce;
  }

  constexpr void collect_members() {
    for (int i = 0; i < N; ++i) {
      if (!result_.is_inside_join(i)) continue;
      result_.group_of[i] = result_.group_of[result_.join[i]];
      ++result_.groups[result_.group_of[i]].count;
    }
    int next = 0;
    for (int g = 0; g < result_.group_count; ++g) {
      result_.groups[g].first = next;
      next += result_.groups[g].count;
      result_.groups[g].count = 0;
    }
    for (int i = 0; i < N; ++i)
      if (int g = result_.group_of[i]; g >= 0)
        result_.members[result_.groups[g].first + result_.groups[g].count++] = i;
  }

  constexpr void store(int i) {
    if (result_.storage[i] >= 0) return;
    if (nodes_[i].op->kind == Kind::reshape) {
      store(nodes_[i].in[0]);
      result_.storage[i] = result_.storage[nodes_[i].in[0]];
    } else if (computed(i) || nodes_[i].op->kind == Kind::input) {
      result_.storage[i] = i;
    } else {
      for (int k = 0; k < nodes_[i].op->arity; ++k) store(nodes_[i].in[k]);
    }
  }

  /// Stores every value that is read other than from a register of its own kernel.
  constexpr void find_storage() {
    for (int i = 0; i < N; ++i) {
      if (nodes_[i].op->kind == Kind::input || (computed(i) && !in_registers(i))) store(i);
      if (!computed(i)) continue;
      for (int k = 0; k < nodes_[i].op->arity; ++k) {
        int source = behind(nodes_, nodes_[i].in[k]);
        bool loop = result_.groups[result_.group_of[i]].kind == Kind::map && !recomputed(nodes_[i].op->kind);
        if (!(loop && result_.group_of[source] == result_.group_of[i] && computed(source))) store(nodes_[i].in[k]);
      }
    }
  }

  const Node* nodes_;
  int first_adjoint_;
  AtLeastOne<bool, N> forced_{}, scalar_{}, waits_{};
  AtLeastOne<int, N> join_ready_{};  ///< of parts of joins: the first group in which all their operands can be read
  AtLeastOne<int, N> together_{};    ///< how many nodes are placed at once: this one and those that wait for it
  Schedule<N> result_{};
};

}  // namespace detail

/// Groups the nodes of a graph into kernels. A node joins the last kernel of its domain and phase in which its
/// operands can be read; kernels run in order. Linear in the size of the graph, apart from counting the pieces of joins.
template <Counts C>
constexpr Schedule<C.nodes> fuse(const Graph<C>& graph) {
  return detail::Fuser<C.nodes>(graph).result();
}

}  // namespace gradual
