#pragma once
#include <vector>

#include <gradual/autodiff/fuse.hpp>

namespace gradual {

namespace detail {

/// Cuts the forward pass of a tape into segments. What crosses a cut is kept; what else backward reads of a segment is
/// computed again when backward comes to it.
class Recomputer {
 public:
  constexpr Recomputer(const Tape& tape, int segments) : tape_(&tape), forward_(tape.first_adjoint) {
    const auto n = static_cast<std::size_t>(forward_);
    saved_.assign(n, 0);
    kept_.assign(n, 0);
    last_use_.assign(n, -1);
    segment_.assign(n, 0);
    find_uses();
    find_cuts(segments);
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

  /// Segments end where nothing crosses that backward does not read anyway, so that keeping it costs nothing. Of all ways
  /// into at most `segments` pieces, one whose heaviest piece is lightest: by bisection of its weight.
  constexpr void find_cuts(int segments) {
    std::vector<int> cuts;               // a cut lies behind its node
    std::vector<std::int64_t> weight;    // of all that is saved up to it
    std::vector<int> unsaved_until(static_cast<std::size_t>(forward_) + 1, 0);
    std::int64_t sum = 0, heaviest = 0;
    int crossing = 0;  // values that are not saved
    for (int i = 0; i < forward_; ++i) {
      crossing -= unsaved_until[static_cast<std::size_t>(i)];
      const int last = last_use_[static_cast<std::size_t>(i)];
      if (computed(i)) {
        if (saved_[static_cast<std::size_t>(i)]) sum += bytes(i);
        else if (last > i) ++crossing, ++unsaved_until[static_cast<std::size_t>(last)];
      }
      if (crossing == 0 && computed(i) && saved_[static_cast<std::size_t>(i)]) {
        cuts.push_back(i);
        weight.push_back(sum);
      }
    }
    std::int64_t low = 0, high = sum;
    while (high - low > 1) {
      heaviest = low + (high - low) / 2;
      if (pieces(cuts, weight, sum, heaviest) <= segments) high = heaviest;
      else low = heaviest;
    }
    count_ = pieces(cuts, weight, sum, high);
    mark(cuts, weight, high);
  }

  /// Into how many pieces of at most `heaviest` the forward pass can be cut.
  static constexpr int pieces(const std::vector<int>& cuts, const std::vector<std::int64_t>& weight, std::int64_t sum,
                              std::int64_t heaviest) {
    int count = 1;
    std::int64_t begin = 0;
    for (std::size_t c = 0; c < cuts.size(); ++c) {
      const std::int64_t next = c + 1 < cuts.size() ? weight[c + 1] : sum;
      if (next - begin > heaviest) begin = weight[c], ++count;
    }
    return sum - begin > heaviest ? 1 << 30 : count;
  }

  constexpr void mark(const std::vector<int>& cuts, const std::vector<std::int64_t>& weight, std::int64_t heaviest) {
    int segment = 0;
    std::int64_t begin = 0;
    std::size_t c = 0;
    for (int i = 0; i < forward_; ++i) {
      segment_[static_cast<std::size_t>(i)] = segment;
      if (c == cuts.size() || cuts[c] != i) continue;
      const std::int64_t next = c + 1 < cuts.size() ? weight[c + 1] : weight.back();
      if (next - begin > heaviest) begin = weight[c], ++segment;
      ++c;
    }
    for (int i = 0; i < forward_; ++i) {
      const int last = last_use_[static_cast<std::size_t>(i)];
      if (last >= 0 && segment_[static_cast<std::size_t>(last)] > segment_[static_cast<std::size_t>(i)])
        kept_[static_cast<std::size_t>(i)] = 1;
    }
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

/// A training tape that saves less: its forward pass is cut into at most `segments` pieces of about equal saved bytes;
/// all but the last are computed again in backward, from what crossed the cut before them (Griewank & Walther 2000; one
/// level, as Chen et al. 2016). The same ops on the same operands: the same bits.
constexpr Tape recompute(const Tape& tape, int segments) {
  if (segments <= 1 || tape.first_adjoint <= 0) return tape;
  const detail::Recomputer recomputer(tape, segments);
  return recomputer.result();
}

}  // namespace gradual
