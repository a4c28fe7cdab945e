#pragma once
#include <algorithm>

#include <gradual/autodiff/draw_of_node.hpp>
#include <gradual/autodiff/fuse.hpp>
#include <gradual/autodiff/view_stride.hpp>

namespace gradual {

/// The origin of a value inside a loop kernel.
enum class Source : unsigned char { load, view, pad, piece, join, iota, random, constant, map, row_reduce, batch_reduce };

/// One value of a loop kernel. A view has one stride per axis of the domain. A padded view or a join covers [first, last) of
/// `axis` and holds `number` outside it. A join reads `in[1]` pieces, the slots from `in[0]` on, each covering its own
/// [first, last). Groups that share code differ only in `node`, `memory` and a view's `offset`, which `LoopPlaces` supplies.
struct Slot {
  Source source = Source::load;
  int node = -1;     ///< the node that it computes or loads
  int memory = -1;   ///< the stored node behind a load or view
  int in[3] = {-1, -1, -1};
  int op = -1;       ///< index in the program's list of ops
  DType dtype = DType::f32;
  bool stored = false;
  bool costly = false;
  bool uniform = false;  ///< the same for all columns: computed once for each row
  Draws draws = Draws::mask;  ///< of a random source
  double number = 0;         ///< of a constant or padding, or the rate of a mask
  std::int64_t which = 0;    ///< index of a random source
  std::int64_t stride[max_rank]{};
  std::int64_t offset = 0;  ///< in memory, of a view's element at the domain's origin
  int axis = -1;            ///< along which a view is padded, or pieces are joined
  std::int64_t first = 0, last = 0;

  constexpr bool operator==(const Slot&) const = default;
};

/// Whether a slot has strides over the domain.
constexpr bool strided(Source source) {
  return source == Source::view || source == Source::pad || source == Source::iota;
}

// Selections of slots, for `LoopBody::for_slots`.
constexpr bool is_evaluated(const Slot& slot) { return slot.source != Source::piece; }
/// Whether it is evaluated for each element; other slots are evaluated once per row, if at all.
constexpr bool is_of_element(const Slot& slot) { return is_evaluated(slot) && !slot.uniform; }
constexpr bool is_read_with_element(const Slot& slot) {
  return (slot.source == Source::load || slot.source == Source::view) && !slot.uniform;
}
/// Whether it is neither computed nor a constant.
constexpr bool is_given(const Slot& slot) { return slot.source < Source::constant && is_evaluated(slot); }
constexpr bool is_given_with_element(const Slot& slot) { return is_given(slot) && !slot.uniform; }
constexpr bool is_row_reduced(const Slot& slot) { return slot.source == Source::row_reduce; }
constexpr bool is_batch_reduced(const Slot& slot) { return slot.source == Source::batch_reduce; }
constexpr bool is_reduced(const Slot& slot) { return is_row_reduced(slot) || is_batch_reduced(slot); }
/// Whether it is a node that a kernel computes; of a join, only the whole.
constexpr bool is_member(const Slot& slot) {
  return slot.stored || slot.source == Source::join || slot.source >= Source::map;
}

/// Whether a loop computes from copies of what is given: none, of one row, or of several.
enum class Staging : unsigned char { none, row, rows };
/// Whether it is copied. What all columns of a row share differs between rows, and is copied only of several.
constexpr bool is_copied(const Slot& slot, Staging staging) {
  if (staging == Staging::none || slot.source == Source::load) return false;
  return staging == Staging::rows ? is_given(slot) : is_given_with_element(slot);
}

/// Whether some of its state belongs to a row rather than to an element.
constexpr bool begins_with_row(const Slot& slot) {
  return is_given(slot) || slot.uniform || is_row_reduced(slot) || (slot.stored && !is_batch_reduced(slot));
}

template <int Capacity>
struct LoopPlan {
  int count = 0;
  Slot slots[Capacity]{};
  Shape domain;
  std::int64_t columns = 1;  ///< elements of a row; −1: the whole domain is one flat row
  int row_axes = 0;          ///< axes of the domain in front of the columns

  struct Chosen {
    int count = 0;
    int slot[Capacity]{};
  };
  constexpr Chosen those(bool (*are)(const Slot&)) const {
    Chosen chosen;
    for (int s = 0; s < count; ++s)
      if (are(slots[s])) chosen.slot[chosen.count++] = s;
    return chosen;
  }

  /// Returns for how many of the first `end` slots, or of all, `are` holds.
  constexpr int count_of(bool (*are)(const Slot&), int end = Capacity) const {
    int result = 0;
    for (int s = 0; s < count && s < end; ++s) result += are(slots[s]);
    return result;
  }

  /// Whether a view has one stride over all axes from `first` on.
  constexpr bool linear(int slot, int first) const {
    for (int i = first; i + 1 < domain.rank; ++i)
      if (slots[slot].stride[i] != slots[slot].stride[i + 1] * domain.extent[i + 1]) return false;
    return true;
  }

  /// Whether a view reads consecutive memory over the axes from `first` on, or one element for all.
  constexpr bool in_order(int slot, int first) const {
    return linear(slot, first) && slots[slot].stride[domain.rank > 0 ? domain.rank - 1 : 0] <= 1;
  }

  /// Whether all that a row reads or counts lies in order, without padding inside the row.
  constexpr bool reads_in_order() const {
    for (int s = 0; s < count; ++s) {
      const Slot& slot = slots[s];
      const bool pads = slot.source == Source::pad && slot.axis >= row_axes;
      if (strided(slot.source) && !slot.uniform && (pads || !in_order(s, row_axes))) return false;
    }
    return true;
  }

  /// The same computation, which loads copies of what is given.
  constexpr LoopPlan staged(Staging staging) const {
    LoopPlan result = *this;
    if (staging == Staging::none) return result;
    for (int s = 0; s < count; ++s) {
      Slot& slot = result.slots[s];
      if (is_copied(slot, staging)) {
        slot.source = Source::load;
        slot.uniform = false;
      }
      for (const int operand : slot.in)
        if (slot.source == Source::map && operand >= 0) slot.uniform = slot.uniform && result.slots[operand].uniform;
    }
    return result;
  }

  /// Pieces of a row: the i-th is [begin[i], begin[i + 1]).
  struct Pieces {
    static constexpr int most = 8;
    int count = 1;
    std::int64_t begin[most + 1]{};
  };
  /// Cuts a row into pieces in which each padded view is all padding or has none; into one if they would be many or short.
  constexpr Pieces pieces() const {
    const Pieces whole{1, {0, columns}};
    Pieces cut = whole;
    for (int s = 0; s < count; ++s) {
      if (slots[s].source != Source::pad || slots[s].axis != row_axes) continue;
      const std::int64_t inner = domain.product(row_axes + 1, domain.rank), ends[] = {slots[s].first, slots[s].last};
      for (const std::int64_t end : ends) {
        const std::int64_t at = end * inner;
        if (std::find(cut.begin, cut.begin + cut.count + 1, at) != cut.begin + cut.count + 1) continue;
        if (cut.count == Pieces::most) return whole;
        cut.begin[++cut.count] = at;
      }
    }
    std::sort(cut.begin, cut.begin + cut.count + 1);
    for (int i = 0; i < cut.count; ++i)
      if (cut.begin[i + 1] - cut.begin[i] < 16) return whole;
    return cut;
  }
};

namespace detail {

/// Writes to `slot` how a view lies in the memory of its source, over the axes of its own shape without those of extent 1.
constexpr void lay_view(const Node& view, const Shape& source, Slot& slot) {
  std::int64_t row_major[max_rank]{};
  lay_row_major(source, 1, row_major);
  const bool slice = view.op->kind == Kind::slice, pad = view.op->kind == Kind::pad;
  const std::int64_t place = view.attributes.integer[1];
  int next = 0;
  for (int i = 0; i < view.shape.rank; ++i) {
    const bool cut = (slice || pad) && i == view.attributes.integer[0];
    if (cut) slot.offset = (slice ? place : -place) * row_major[i];
    if (view.shape.extent[i] == 1 && i != view.shape.batch_axis) continue;
    if (cut && pad) {
      slot.axis = next;
      slot.first = place;
      slot.last = place + source.extent[i];
      slot.number = view.attributes.number;
    }
    slot.stride[next++] = view_stride(view, source, row_major, i);
  }
}

template <int Capacity, class Ops, Counts C>
class LoopPlanner {
 public:
  constexpr LoopPlanner(const Graph<C>& graph, const Schedule<C.nodes>& schedule, int group)
      : nodes_(graph.nodes), schedule_(schedule) {
    const Group& g = schedule.groups[group];
    plan_.domain = g.domain;
    for (int m = 0; m < g.count; ++m) read_inputs(nodes_[schedule.members[g.first + m]]);
    for (int m = 0; m < g.count; ++m) add_member(schedule.members[g.first + m]);
    choose_columns(g);
    for (int s = 0; s < plan_.count; ++s) plan_.slots[s].uniform = uniform(plan_.slots[s]);
  }
  constexpr const LoopPlan<Capacity>& plan() const { return plan_; }

 private:
  constexpr int find(int node) const {
    for (int s = 0; s < plan_.count; ++s)
      if (plan_.slots[s].node == node) return s;
    return -1;
  }
  constexpr Slot& push(int node) {
    Slot& slot = plan_.slots[plan_.count++];
    slot.node = node;
    slot.dtype = nodes_[node].dtype;
    return slot;
  }

  /// Describes the source of a constant, random number, index or view; anything else stays a load.
  constexpr void describe_source(Slot& slot) {
    const Node& node = nodes_[slot.node];
    const Kind kind = node.op->kind;
    if (kind == Kind::constant) {
      slot.source = Source::constant;
      slot.number = node.attributes.number;
    } else if (kind == Kind::random) {
      slot.source = Source::random;
      slot.draws = draws_of(node);
      slot.number = node.attributes.number;
      slot.which = node.attributes.integer[0];
    } else if (kind == Kind::iota) {
      slot.source = Source::iota;
      lay_view(node, node.shape, slot);
    } else if (recomputed(kind)) {
      slot.source = kind == Kind::pad ? Source::pad : Source::view;
      slot.memory = schedule_.storage[node.in[0]];
      lay_view(node, nodes_[node.in[0]].shape, slot);
    }
  }

  constexpr int operand(int id) {
    const int node = behind(nodes_, id);
    if (int s = find(node); s >= 0) return s;
    Slot& slot = push(node);
    slot.memory = schedule_.storage[node];
    if (schedule_.group_of[node] < 0) describe_source(slot);
    for (int s = 0; s + 1 < plan_.count && slot.source == Source::load; ++s)
      if (plan_.slots[s].source == Source::load && plan_.slots[s].memory == slot.memory) {  // the same under another shape
        --plan_.count;  // loaded only once: a value that is stored may take over its memory after that
        return s;
      }
    return plan_.count - 1;
  }

  /// Inputs are read before anything is stored: an update stores over them.
  constexpr void read_inputs(const Node& node) {
    for (int k = 0; k < node.op->arity && !recomputed(node.op->kind); ++k) {
      const int memory = schedule_.storage[behind(nodes_, node.in[k])];
      if (memory >= 0 && nodes_[memory].op->kind == Kind::input) operand(node.in[k]);
    }
  }

  constexpr void add_member(int id) {
    const Node& node = nodes_[id];
    if (schedule_.join[id] == id) return add_join(id);
    if (schedule_.is_inside_join(id)) return;
    int in[3] = {-1, -1, -1};
    const bool view = recomputed(node.op->kind);
    for (int k = 0; k < node.op->arity && !view; ++k) in[k] = operand(node.in[k]);
    Slot& slot = push(id);
    for (int k = 0; k < 3; ++k) slot.in[k] = in[k];
    slot.stored = schedule_.storage[id] == id;
    if (view) {
      describe_source(slot);
    } else if (node.op->kind == Kind::row_reduce) {
      slot.source = Source::row_reduce;
      slot.op = index_in(Ops{}, *node.op);
    } else if (node.op->kind == Kind::batch_reduce) {
      slot.source = Source::batch_reduce;
    } else {
      slot.source = Source::map;
      slot.op = index_in(Ops{}, *node.op);
      slot.costly = node.op->costly;
    }
  }

  /// Adds a slot for each piece, in the order of their places, and one for the join.
  constexpr void add_join(int id) {
    const int axis = join_axis(nodes_, id), first = plan_.count;
    for (int i = 0; i <= id; ++i)
      for (int k = 0; k < 2 && schedule_.join[i] == id; ++k)
        if (const Node& pad = nodes_[nodes_[i].in[k]]; is<Pad>(pad)) add_piece(pad, first);
    const Slot &lowest = plan_.slots[first], &highest = plan_.slots[plan_.count - 1];
    const int pieces = plan_.count - first;
    Slot& slot = push(id);
    slot.source = Source::join;
    slot.stored = schedule_.storage[id] == id;
    slot.in[0] = first;
    slot.in[1] = pieces;
    slot.axis = plan_.domain.rank - 1 - axes_kept(nodes_[id].shape, axis + 1);
    slot.first = lowest.first;
    slot.last = highest.last;
    slot.number = lowest.number;
  }
  constexpr void add_piece(const Node& pad, int first_piece) {
    Slot piece;
    piece.source = Source::piece;
    piece.memory = schedule_.storage[pad.in[0]];
    piece.dtype = pad.dtype;
    piece.first = pad.attributes.integer[1];
    piece.last = piece.first + nodes_[pad.in[0]].shape.extent[pad.attributes.integer[0]];
    piece.number = pad.attributes.number;
    int at = plan_.count++;
    for (; at > first_piece && plan_.slots[at - 1].first > piece.first; --at) plan_.slots[at] = plan_.slots[at - 1];
    plan_.slots[at] = piece;
  }

  constexpr bool uniform(const Slot& slot) const {
    bool result = !slot.stored;
    if (strided(slot.source)) {
      for (int i = plan_.columns < 0 ? 0 : plan_.row_axes; i < plan_.domain.rank; ++i) result = result && slot.stride[i] == 0;
    } else if (slot.source == Source::map) {
      for (int k = 0; k < 3; ++k) result = result && (slot.in[k] < 0 || plan_.slots[slot.in[k]].uniform);
    } else {
      result = result && slot.source == Source::constant;
    }
    return result;
  }

  constexpr void choose_columns(const Group& g) {
    const Shape& d = plan_.domain;
    bool flat = true;
    for (int s = 0; s < plan_.count; ++s) {
      const Slot& slot = plan_.slots[s];
      flat = flat && slot.source != Source::random && slot.source != Source::join;  // a row has one sample, and one piece
      if (!strided(slot.source)) continue;
      for (int i = 0; i < d.rank; ++i) flat = flat && slot.stride[i] == 0;
    }
    int axis = d.rank;
    if (g.column_axes >= 0) {
      axis -= g.column_axes;
    } else if (flat) {
      plan_.columns = -1;
      return;
    } else {
      const int most = d.rank - (d.batched() ? 1 : 0), least = d.rank - (g.most_column_axes < most ? g.most_column_axes : most);
      bool all = true;
      while (all && axis > least) {
        for (int s = 0; s < plan_.count; ++s) {
          if (strided(plan_.slots[s].source)) all = all && plan_.linear(s, axis - 1);
          // Long rows that are padding as a whole, or not at all, need no test for each element.
          all = all && !(plan_.slots[s].axis == axis - 1 && d.product(axis, d.rank) >= 16);
        }
        if (all) --axis;
      }
    }
    plan_.row_axes = axis;
    plan_.columns = d.product(axis, d.rank);
  }

  const Node* nodes_;
  const Schedule<C.nodes>& schedule_;
  LoopPlan<Capacity> plan_{};
};

}  // namespace detail

/// Returns everything that a loop kernel must know about group G, as a constant without unused slots.
template <class P, int G>
constexpr auto plan_loop() {
  constexpr int capacity = 4 * P::template group<G>.count;
  constexpr auto plan = detail::LoopPlanner<capacity, typename P::Ops, P::graph.counts>(P::graph, P::schedule, G).plan();
  LoopPlan<plan.count> result;
  result.count = plan.count;
  for (int s = 0; s < plan.count; ++s) result.slots[s] = plan.slots[s];
  result.domain = plan.domain;
  result.columns = plan.columns;
  result.row_axes = plan.row_axes;
  return result;
}

}  // namespace gradual
