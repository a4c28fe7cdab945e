#pragma once
#include <gradual/autodiff/fuse.hpp>
#include <vector>

namespace gradual {

namespace detail {

/// Cuts the forward pass of a tape into segments. What crosses a cut is kept; what else backward reads of a segment is
/// computed again when backward comes to it.
class Recomputer {
 public:
  constexpr Recomputer(const Tape& tape, int percent) : tape_(&tape), forward_(tape.first_adjoint) {
    const auto n = static_cast<std::size_t>(forward_);
    saved_.assign(n, 0);
    kept_.assign(n, 0);
    last_use_.assign(n, -1);
    segment_.assign(n, 0);
    find_uses();
    find_segments(percent);
  }

  constexpr Tape result() const {
    Tape out = *tape_;
    if (count_ == 1) return out;
    out.nodes.resize(static_cast<std::size_t>(forward_));
    std::vector<int> moved(static_cast<std::size_t>(tape_->size()), -1);
    for (int i = 0; i < forward_; ++i) moved[static_cast<std::size_t>(i)] = i;
    std::vector<char> repeated(static_cast<std::size_t>(count_), 0);
    for (int i = forward_; i < tape_->size(); ++i) {
      for (int k = 0; k < (*tape_)[i].op->arity; ++k)
        if (const int in = (*tape_)[i].in[k]; in < forward_ && computed(in)) {
          const int s = segment_[static_cast<std::size_t>(in)];
          if (s < count_ - 1 && !kept_[static_cast<std::size_t>(in)] && !repeated[static_cast<std::size_t>(s)]) {
            repeated[static_cast<std::size_t>(s)] = 1;
            repeat(out, s, moved);
          }
        }
      moved[static_cast<std::size_t>(i)] = copy(out, i, moved);
    }
    for (Root& root : out.roots)
      if (root.node >= forward_) root.node = moved[static_cast<std::size_t>(root.node)];
    return out;
  }

 private:
  /// Whether a forward value needs memory or work for each sample: inputs lie there anyway, constants cost nothing.
  constexpr bool computed(int i) const { return (*tape_)[i].shape.batched() && (*tape_)[i].op->arity > 0; }
  constexpr std::int64_t bytes(int i) const {
    return (*tape_)[i].shape.unit() * static_cast<std::int64_t>(size_of((*tape_)[i].dtype));
  }

  /// What backward reads, through views and reshapes as well, and the last forward reader of each value.
  constexpr void find_uses() {
    for (int i = tape_->size() - 1; i >= 0; --i) {
      const Node& node = (*tape_)[i];
      const bool view = i < forward_ && (recomputed(node.op->kind) || node.op->kind == Kind::reshape);
      for (int k = 0; k < node.op->arity; ++k) {
        const int in = node.in[k];
        if (in >= forward_) continue;
        if (i >= forward_ || (view && saved_[static_cast<std::size_t>(i)])) saved_[static_cast<std::size_t>(in)] = 1;
        int& last = last_use_[static_cast<std::size_t>(in)];
        if (i < forward_ && last < i) last = i;
      }
    }
    for (const Root& root : tape_->roots)
      if (root.node < forward_) kept_[static_cast<std::size_t>(root.node)] = 1;
  }

  /// Where the forward pass may be cut: behind a value that backward reads anyway, where nothing else crosses.
  struct Cut {
    int node = -1;
    std::int64_t saved = 0;     // bytes of all that is saved up to it
    std::int64_t own = 0;       // of the value itself
    std::int64_t crossing = 0;  // of what must be kept where it is cut here
    std::int64_t least = 0;     // kept by the best choice of cuts up to this one
    std::size_t before = 0;     // the cut before it in that choice
  };

  constexpr std::vector<Cut> possible_cuts() const {
    std::vector<Cut> cuts(1);  // the beginning
    std::vector<std::int64_t> leaves(static_cast<std::size_t>(forward_) + 1, 0);
    std::vector<int> unsaved(static_cast<std::size_t>(forward_) + 1, 0);
    std::int64_t saved = 0, crossing = 0;
    int crossing_unsaved = 0;
    for (int i = 0; i < forward_; ++i) {
      crossing -= leaves[static_cast<std::size_t>(i)];
      crossing_unsaved -= unsaved[static_cast<std::size_t>(i)];
      if (!computed(i)) continue;
      const auto last = static_cast<std::size_t>(last_use_[static_cast<std::size_t>(i)]);
      const bool crosses = last_use_[static_cast<std::size_t>(i)] > i;
      if (saved_[static_cast<std::size_t>(i)]) {
        saved += bytes(i);
        if (crosses) crossing += bytes(i), leaves[last] += bytes(i);
        if (crosses && crossing_unsaved == 0) cuts.push_back({i, saved, bytes(i), crossing, 0, 0});
      } else if (crosses) {
        ++crossing_unsaved, ++unsaved[last];
      }
    }
    cuts.push_back({forward_, saved, 0, 0, 0, 0});
    return cuts;
  }

  /// While backward is in a segment, what was kept before it and what the segment saves are alive: at most `percent` of
  /// everything saved, where that can be. Of all such choices of cuts, one that keeps the least; among these one whose
  /// last segment, which is never computed again, is the largest. Quadratic in the number of possible cuts.
  constexpr void find_segments(int percent) {
    std::vector<Cut> list = possible_cuts();
    Cut* const cuts = list.data();
    const std::size_t end = list.size() - 1;
    const std::int64_t most = cuts[end].saved / 100 * percent + cuts[end].saved % 100 * percent / 100;
    for (std::size_t c = 1; c <= end; ++c) {
      cuts[c].before = c - 1;
      cuts[c].least = cuts[c - 1].least + cuts[c].crossing;
      for (std::size_t p = c - 1; p-- > 0;) {
        const std::int64_t segment = cuts[c].saved - cuts[c].own - cuts[p].saved,
                           kept = cuts[p].least + cuts[c].crossing;
        if (segment > most) break;
        if (cuts[p].least + segment > most || kept > cuts[c].least) continue;
        cuts[c].least = kept;
        cuts[c].before = p;
      }
    }
    for (std::size_t c = cuts[end].before; c > 0; c = cuts[c].before) {
      segment_[static_cast<std::size_t>(cuts[c].node)] = 1;
      ++count_;
    }
    int segment = 0;
    for (int& of : segment_) {
      const int next = segment + of;
      of = segment;
      segment = next;
    }
    for (std::size_t i = 0; i < segment_.size(); ++i)
      if (last_use_[i] >= 0 && segment_[static_cast<std::size_t>(last_use_[i])] > segment_[i]) kept_[i] = 1;
  }

  constexpr int copy(Tape& out, int i, const std::vector<int>& moved) const {
    Node node = (*tape_)[i];
    for (int k = 0; k < node.op->arity; ++k) node.in[k] = moved[static_cast<std::size_t>(node.in[k])];
    out.nodes.push_back(node);
    return out.size() - 1;
  }

  /// Records again what backward reads of a segment, and what that is made of.
  constexpr void repeat(Tape& out, int segment, std::vector<int>& moved) const {
    std::vector<char> again(static_cast<std::size_t>(forward_), 0);
    const auto here = [&](int i) {
      return segment_[static_cast<std::size_t>(i)] == segment && computed(i) && !kept_[static_cast<std::size_t>(i)];
    };
    for (int i = forward_ - 1; i >= 0; --i) {
      char& wanted = again[static_cast<std::size_t>(i)];
      wanted = here(i) && (wanted || saved_[static_cast<std::size_t>(i)]);
      for (int k = 0; wanted && k < (*tape_)[i].op->arity; ++k) again[static_cast<std::size_t>((*tape_)[i].in[k])] = 1;
    }
    for (int i = 0; i < forward_; ++i)
      if (again[static_cast<std::size_t>(i)]) moved[static_cast<std::size_t>(i)] = copy(out, i, moved);
  }

  const Tape* tape_;
  int forward_, count_ = 1;
  std::vector<char> saved_, kept_;
  std::vector<int> last_use_, segment_;
};

}  // namespace detail

/// A training tape that saves less: its forward pass is cut into segments, so that at most `percent` of all that
/// backward reads is there at once; all but the last are computed again in backward, from what crossed the cut before
/// them (Chen et al. 2016, where all segments are equal; here, the fewer were kept before one, the larger it may be).
/// The same ops on the same operands: the same bits.
constexpr Tape recompute(const Tape& tape, int percent) {
  if (percent >= 100 || tape.first_adjoint <= 0) return tape;
  const detail::Recomputer recomputer(tape, percent);
  return recomputer.result();
}

}  // namespace gradual
