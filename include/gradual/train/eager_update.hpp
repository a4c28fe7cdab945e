#pragma once
#include <cstring>
#include <vector>

#include <gradual/eager/replay.hpp>
#include <gradual/optim/check_rates.hpp>
#include <gradual/optim/update.hpp>

namespace gradual {

/// An update rule run over flat parameters: traced once, for a piece that fits the caches where every element
/// stands for itself, else (norms) for all elements.
class EagerUpdate {
 public:
  template <class Rule>
  EagerUpdate(const Device& device, const Rule& rule, std::int64_t elements)
      : elements_(elements), piece_(piece_of(trace_update(rule, elements), elements)),
        replay_(device, trace_update(rule, piece_), OpsFor<Rule>{}), scalars_(replay_.tape().scalars.size()) {
    check_rates(rule, replay_.tape().scalars);
    for (std::size_t i = 0; i < replay_.tape().inputs.size(); ++i) replay_.executor().bind_input(nullptr);
    replay_.executor().bind_scalars(scalars_.data());
  }

  /// One update, after `steps` others: arena[0] holds the parameters, arena[1] the window's summed gradient of that
  /// weight, the others the state. Errors: MemoryError, before anything is changed.
  void run(float* const* arena, double weight, std::int64_t steps) {
    const std::vector<Scalar>& scalars = replay_.tape().scalars;
    for (std::size_t s = rule_scalars; s < scalars.size(); ++s) scalars_[s] = static_cast<float>(scalars[s].at(steps));
    scalars_[window_weight] = static_cast<float>(weight);
    scalars_[step_count] = static_cast<float>(steps + 1);
    const std::int64_t rest = elements_ == 0 ? 0 : elements_ % piece_, whole = elements_ - rest;
    Results last;  // of the last piece, which overlaps the one before it: both begin from the old values
    if (rest > 0) compute(arena, elements_ - piece_, last);
    for (std::int64_t at = 0; at < whole; at += piece_) {
      Results results;
      compute(arena, at, results);
      write(results, 0, arena, at, piece_);
    }
    write(last, piece_ - rest, arena, whole, rest);
  }

 private:
  static constexpr int max_roots = 1 + max_states;  ///< the parameters and the states
  struct Results {
    eager::Storage root[max_roots];
  };

  static std::int64_t piece_of(const Tape& tape, std::int64_t elements) {
    for (const Node& node : tape.nodes) {
      const Kind kind = node.op->kind;
      const bool alone = kind == Kind::input || kind == Kind::constant || kind == Kind::map ||
                         (kind == Kind::broadcast && tape[node.in[0]].shape.unit() == 1);
      if (!alone) return elements;
    }
    return elements < 8192 ? elements : 8192;
  }

  void compute(float* const* arena, std::int64_t at, Results& results) {
    for (std::size_t i = 0; i < replay_.tape().inputs.size(); ++i) replay_.executor().rebind_input(i, arena[i] + at);
    replay_.run();
    for (std::size_t r = 0; r < replay_.tape().roots.size(); ++r) results.root[r] = replay_.root(r).storage();
    replay_.release();
  }

  void write(const Results& results, std::int64_t from, float* const* arena, std::int64_t at, std::int64_t count) const {
    for (std::size_t r = 0; r < replay_.tape().roots.size() && count > 0; ++r)
      std::memcpy(arena[r == 0 ? 0 : r + 1] + at, results.root[r].as<float>() + from,
                  static_cast<std::size_t>(count) * sizeof(float));
  }

  std::int64_t elements_, piece_;
  eager::Replay replay_;
  std::vector<float> scalars_;
};

}  // namespace gradual
