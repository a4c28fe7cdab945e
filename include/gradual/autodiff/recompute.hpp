#pragma once
#include <vector>

#include <gradual/autodiff/cuts.hpp>
#include <gradual/autodiff/flops.hpp>

namespace gradual {

namespace detail {

/// Rewrites a training tape. Two kinds of values of a stretch of forward stay: those that cross a kept cut, and those behind
/// the last kept cut that backward reads. When backward comes to that cut, the stretch before it, from the previous kept cut
/// on, is computed again in the same way.
template <class = void>  // as `recompute`
class Recomputer {
 public:
  constexpr Recomputer(const Tape& tape, int percent)
      : tape_(&tape),
        forward_(tape.first_adjoint),
        saved_(static_cast<std::size_t>(forward_), 0),
        state_(static_cast<std::size_t>(forward_), State::gone),
        last_use_(static_cast<std::size_t>(forward_), -1),
        moved_(static_cast<std::size_t>(tape.size()), -1),
        choice_(choose(percent)) {
    for (int i = 0; i < forward_; ++i) moved_[static_cast<std::size_t>(i)] = i;
    keep(0, choice_.end(), State::there);
  }

  constexpr Tape result() {
    Tape out = *tape_;
    out.nodes.resize(static_cast<std::size_t>(forward_));
    for (int i = forward_; i < tape_->size(); ++i) {
      for (int k = 0; k < (*tape_)[i].op->arity; ++k)
        if (const int in = (*tape_)[i].in[k]; in < forward_ && computed(in))
          while (state_[static_cast<std::size_t>(in)] != State::there) repeat(out);
      copy(out, i);
    }
    for (Root& root : out.roots) root.node = moved_[static_cast<std::size_t>(root.node)];
    return out;
  }

  constexpr const CutChoice& choice() const { return choice_; }

 private:
  /// Whether backward has a forward value; while a stretch is computed again, whether backward or only other values need it.
  enum class State : unsigned char { gone, there, wanted, passing };

  /// Whether a forward value needs memory or work for each sample: inputs are there anyway, constants cost nothing.
  constexpr bool computed(int i) const { return (*tape_)[i].shape.batched() && (*tape_)[i].op->arity > 0; }
  constexpr bool view(int i) const { return recomputed((*tape_)[i].op->kind) || (*tape_)[i].op->kind == Kind::reshape; }

  /// Finds the values that backward reads, and the last forward reader of each value; through views and reshapes as well.
  constexpr void find_uses() {
    for (int i = tape_->size() - 1; i >= 0; --i) {
      const bool adjoint = i >= forward_, through = !adjoint && view(i);
      const bool saved = adjoint || (through && saved_[static_cast<std::size_t>(i)]);
      const int reader = adjoint ? -1
                         : through && last_use_[static_cast<std::size_t>(i)] > i
                             ? last_use_[static_cast<std::size_t>(i)]
                             : i;
      for (int k = 0; k < (*tape_)[i].op->arity; ++k) {
        const int in = (*tape_)[i].in[k];
        if (in >= forward_) continue;
        if (saved) saved_[static_cast<std::size_t>(in)] = 1;
        int& last = last_use_[static_cast<std::size_t>(in)];
        last = last < reader ? reader : last;
      }
    }
    for (const Root& root : tape_->roots)
      if (root.node < forward_) state_[static_cast<std::size_t>(root.node)] = State::there;
  }

  /// Returns where forward may be cut: behind a value that backward reads anyway, where only such values cross.
  constexpr std::vector<Cut> possible_cuts() const {
    std::vector<Cut> cuts(1);
    std::vector<std::int64_t> leaves(static_cast<std::size_t>(forward_), 0);
    std::vector<int> unsaved(static_cast<std::size_t>(forward_), 0);
    Cut here;
    int crossing_unsaved = 0;
    for (int i = 0; i < forward_; ++i) {
      here.crossing -= leaves[static_cast<std::size_t>(i)];
      crossing_unsaved -= unsaved[static_cast<std::size_t>(i)];
      if (!computed(i) || view(i)) continue;
      const int last = last_use_[static_cast<std::size_t>(i)];
      const std::int64_t bytes = (*tape_)[i].shape.unit() * size_of((*tape_)[i].dtype);
      here.node = i;
      here.work += flops_of(tape_->nodes.data(), i);
      if (!saved_[static_cast<std::size_t>(i)]) {
        if (last > i) ++crossing_unsaved, ++unsaved[static_cast<std::size_t>(last)];
        continue;
      }
      here.saved += bytes;
      if (last <= i) continue;
      here.crossing += bytes;
      leaves[static_cast<std::size_t>(last)] += bytes;
      if (crossing_unsaved == 0) cuts.push_back(here);
    }
    cuts.push_back({forward_, here.saved, 0, here.work});
    return cuts;
  }

  constexpr CutChoice choose(int percent) {
    find_uses();
    std::vector<Cut> cuts = possible_cuts();
    const std::int64_t saved = cuts.back().saved;
    return {std::move(cuts), saved / 100 * percent + saved % 100 * percent / 100};
  }

  /// Decides which values stay of the stretch between two cuts, which is computed now.
  constexpr void keep(std::size_t from, std::size_t to, State staying) {
    std::int64_t room = choice_.most();
    for (const std::size_t cut : kept_) room -= choice_[cut].crossing;
    const std::vector<std::size_t> cuts = choice_.between(from, to, room);
    for (const std::size_t cut : cuts) kept_.push_back(cut);
    done_ = kept_.back();
    std::size_t next = 0;  // the first cut behind a value
    for (int i = choice_[from].node + 1; i < forward_ && i <= choice_[to].node; ++i) {
      while (next < cuts.size() && choice_[cuts[next]].node < i) ++next;
      const bool last = next == cuts.size();
      const bool stays = last ? saved_[static_cast<std::size_t>(i)] != 0
                              : last_use_[static_cast<std::size_t>(i)] > choice_[cuts[next]].node;
      State& here = state_[static_cast<std::size_t>(i)];
      if (stays && computed(i) && here == State::gone) here = staying;
    }
  }

  /// Computes the stretch before `done_` again, except for the values that backward has.
  constexpr void repeat(Tape& out) {
    kept_.pop_back();
    const int first = choice_[kept_.back()].node + 1, last = choice_[done_].node;
    keep(kept_.back(), done_, State::wanted);
    for (int i = last; i >= first; --i)
      if (state_[static_cast<std::size_t>(i)] == State::wanted || state_[static_cast<std::size_t>(i)] == State::passing)
        for (int k = 0; k < (*tape_)[i].op->arity; ++k)
          if (const int in = (*tape_)[i].in[k]; computed(in) && state_[static_cast<std::size_t>(in)] == State::gone)
            state_[static_cast<std::size_t>(in)] = State::passing;
    for (int i = first; i <= last; ++i) {
      State& here = state_[static_cast<std::size_t>(i)];
      if (here != State::wanted && here != State::passing) continue;
      copy(out, i);
      here = here == State::wanted ? State::there : State::gone;
    }
  }

  constexpr void copy(Tape& out, int i) {
    Node node = (*tape_)[i];
    for (int k = 0; k < node.op->arity; ++k) node.in[k] = moved_[static_cast<std::size_t>(node.in[k])];
    moved_[static_cast<std::size_t>(i)] = out.size();
    out.nodes.push_back(node);
  }

  const Tape* tape_;
  int forward_;
  std::vector<char> saved_;  ///< whether backward reads it
  std::vector<State> state_;
  std::vector<int> last_use_, moved_;
  CutChoice choice_;
  std::vector<std::size_t> kept_{0};  ///< cuts whose values backward still needs, the latest last
  std::size_t done_ = 0;              ///< behind this cut, backward has all that it reads
};

}  // namespace detail

/// Returns a training tape that saves less: at most `percent` of all that backward reads is there at once, or as little as
/// possible; the rest is computed again in backward, from values that were kept (`CutChoice`). The same ops on the same
/// operands give the same bits.
template <class T = void>  // so that only programs that save less instantiate what it calls
constexpr Tape recompute(const Tape& tape, int percent) {
  if (percent >= 100 || tape.first_adjoint <= 0) return tape;
  return detail::Recomputer<T>(tape, percent).result();
}

}  // namespace gradual
