#pragma once
#include <bit>
#include <memory>
#include <vector>

#include <gradual/eager/tape.hpp>

namespace gradual::eager {

/// Whether two tapes do the same with the sums over their batches, so that these may be added before it is done: their
/// values without samples are the same computations of sums at the same places.
inline bool same_sums(EagerTape& a, EagerTape& b) {
  Executor &x = a.values(), &y = b.values();
  const std::size_t count = x.unbatched().size();
  if (count != y.unbatched().size() || a.roots.size() != b.roots.size()) return false;
  for (std::size_t i = 0; i < count; ++i) {
    const Node &m = a[x.unbatched()[i]], &n = b[y.unbatched()[i]];
    const auto bits = [](const Node& node, int k) { return std::bit_cast<std::uint64_t>(node.attributes.number[k]); };
    if (m.op->id != n.op->id || m.dtype != n.dtype || !(m.shape == n.shape) || bits(m, 0) != bits(n, 0) ||
        bits(m, 1) != bits(n, 1) || m.attributes.integer[0] != n.attributes.integer[0] ||
        m.attributes.integer[1] != n.attributes.integer[1])
      return false;
    if (m.op->kind == Kind::input && m.attributes.integer[1] == Input::sample &&
        x.input(static_cast<int>(m.attributes.integer[0])) != y.input(static_cast<int>(n.attributes.integer[0])))
      return false;
    for (int k = 0; k < m.op->arity; ++k)
      if (x.ordinal(m.in[k]) != y.ordinal(n.in[k]) ||
          (a[m.in[k]].shape.batched() && !(a[m.in[k]].shape == b[n.in[k]].shape)))
        return false;
  }
  for (std::size_t r = 0; r < a.roots.size(); ++r)
    if (a.roots[r].role != b.roots[r].role || x.ordinal(a.roots[r].node) != y.ordinal(b.roots[r].node)) return false;
  return true;
}

/// Sums over the samples of a window (weight gradients and the like), added up while its parts are recorded one after
/// another. What backward does with them, which no sample enters, is done once, at the window's end. Parts whose
/// backward differs, as where a loop's length depends on the data, have sums of their own, which are added then.
class WindowSums {
 public:
  explicit WindowSums(const Parameters& parameters) : parameters_(&parameters) {}

  /// A tape for samples [first, first + count) of `given`: the window's next part, or just to look at where not
  /// `deferring`.
  template <class Ops = OpsFor<void>>
  EagerTape& next_tape(std::int64_t first, std::int64_t count, std::int64_t given, bool deferring = true) {
    if (used_ == recordings_.size()) {
      recordings_.reserve(used_ + 1);
      recordings_.push_back(std::make_unique<Recording>(*parameters_, Ops{}));
    }
    EagerTape& tape = recordings_[used_]->tape;
    tape.begin(first, count, given, deferring);
    return tape;
  }

  /// Prepares to add the part on the tape, which begins at sample `begin` of the window: everything that can fail. `last`:
  /// the window ends with it. Errors: MemoryError.
  void reserve(std::int64_t begin, bool last) {
    Recording& part = *recordings_[used_];
    Executor& values = part.tape.values();
    target_ = &part;
    for (std::size_t r = 0; r < used_ && target_ == &part; ++r)
      if (same_sums(recordings_[r]->tape, part.tape)) target_ = recordings_[r].get();
    std::size_t cuts = 0;
    for (int id : values.unbatched()) cuts += is_cut(part.tape[id].op->kind);
    if (target_ == &part) part.shadows.clear();  // of a part that could not be added
    target_->shadows.resize(cuts);
    each_cut(part, [&](int id, Shadow& shadow) {
      values.reserve(part.tape, id, shadow, begin, last);
      for (int k = 0; k < part.tape[id].op->arity; ++k) values.dense(part.tape, part.tape[id].in[k]);
    });
  }

  /// Adds the part that was reserved for. The tape's values without samples are kept for the window's end.
  void add(std::int64_t begin, bool last) {
    Recording& part = *recordings_[used_];
    each_cut(part, [&](int id, Shadow& shadow) { part.tape.values().add_cut(part.tape, id, shadow, begin, last); });
    if (target_ == &part) {
      ++used_;
      part.tape.values().release_batched(part.tape);
    } else {
      part.tape.forget();
    }
  }

  /// Writes the gradients of the window so far, parameter after parameter; it cannot be continued. A term that no sample
  /// enters is multiplied by `weight`, the window's. Errors: MemoryError, after which it can be called again.
  void finish(std::span<float> gradient, double weight) {
    for (std::size_t r = 0; r < used_; ++r) finish(*recordings_[r], gradient, r > 0 ? 0 : static_cast<float>(weight), r > 0);
  }

  /// Forgets the window; memory goes back to the device's pool.
  void clear() {
    for (std::size_t r = 0; r < used_; ++r) {
      recordings_[r]->tape.forget();
      recordings_[r]->shadows.clear();
    }
    used_ = 0;
  }

 private:
  struct Recording {
    template <class Ops>
    Recording(const Parameters& parameters, Ops ops) : tape(parameters, 1, ops) {}
    EagerTape tape;
    std::vector<Shadow> shadows;  ///< of its cuts, in order
    float weight = 0;
  };

  /// Calls f(node of the part, sum that it is added to) for every cut.
  template <class F>
  void each_cut(Recording& part, F f) {
    std::size_t cut = 0;
    for (int id : part.tape.values().unbatched())
      if (is_cut(part.tape[id].op->kind)) f(id, target_->shadows[cut++]);
  }

  void finish(Recording& recording, std::span<float> gradient, float weight, bool add) {
    EagerTape& tape = recording.tape;
    Executor& values = tape.values();
    target_ = &recording;
    each_cut(recording, [&](int id, Shadow& shadow) {
      values.close_cut(tape, id, shadow);
      values.set_cut(id, shadow.total);
    });
    recording.weight = weight;
    values.bind_weight(&recording.weight);
    values.run_deferred(tape);
    for (const Root& root : tape.roots) {
      if (root.role != Role::gradient) continue;
      const auto p = static_cast<std::size_t>(root.index);
      const auto* from = static_cast<const float*>(values.dense(tape, root.node));
      float* to = gradient.data() + parameters_->offsets()[p];
      const std::int64_t count = parameters_->offsets()[p + 1] - parameters_->offsets()[p];
      if (!add) std::copy_n(from, count, to);
      for (std::int64_t i = 0; i < count && add; ++i) to[i] += from[i];
    }
  }

  const Parameters* parameters_;
  std::vector<std::unique_ptr<Recording>> recordings_;  ///< the first `used_` of them hold sums of this window
  std::size_t used_ = 0;
  Recording* target_ = nullptr;  ///< whose sums the part is added to
};

}  // namespace gradual::eager
