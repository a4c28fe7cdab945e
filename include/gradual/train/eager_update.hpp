#pragma once
#include <cstring>
#include <span>
#include <vector>

#include <gradual/eager/replay.hpp>
#include <gradual/optim/check_rates.hpp>
#include <gradual/optim/update.hpp>

namespace gradual {

/// An update rule run over flat parameters: traced once, for a piece that fits the caches where every element
/// stands for itself, else (norms) for all elements, or for the parameters one by one.
class EagerUpdate {
 public:
  /// `parameters`: as declared, each beginning where `offsets` says, the last of which is the number of all elements.
  template <class Rule>
  EagerUpdate(const Device& device, const Rule& rule, std::span<const ParameterInfo> parameters, std::span<const std::int64_t> offsets)
      : elements_(offsets.back()), piece_(piece_of(trace_update(rule, parameters), elements_)), offsets_(offsets.begin(), offsets.end()),
        replay_(device, piece_ < elements_ ? trace_update(rule, piece_) : trace_update(rule, parameters), OpsFor<Rule>{}),
        scalars_(replay_.tape().scalars.size()) {
    check_rates(rule, replay_.tape().scalars);
    for (std::size_t i = 0; i < replay_.tape().inputs.size(); ++i) replay_.executor().bind_input(nullptr);
    replay_.executor().bind_scalars(scalars_.data());
    results_.reserve(replay_.tape().roots.size());
    last_.reserve(replay_.tape().roots.size());
  }

  /// One update, after `steps` others: arena[0] holds the parameters, arena[1] the window's summed gradient of that
  /// weight, the others the state. Errors: MemoryError, before anything is changed.
  void run(float* const* arena, double weight, std::int64_t steps) {
    const std::vector<Scalar>& scalars = replay_.tape().scalars;
    for (std::size_t s = rule_scalars; s < scalars.size(); ++s) scalars_[s] = static_cast<float>(scalars[s].at(steps));
    scalars_[window_weight] = static_cast<float>(weight);
    scalars_[step_count] = static_cast<float>(steps + 1);
    const std::int64_t rest = elements_ == 0 ? 0 : elements_ % piece_, whole = elements_ - rest;
    const Emptied afterwards{results_, last_};
    if (rest > 0) compute(arena, elements_ - piece_, last_);
    for (std::int64_t at = 0; at < whole; at += piece_) {
      compute(arena, at, results_);
      write(results_, 0, arena, at, piece_);
    }
    write(last_, piece_ - rest, arena, whole, rest);
  }

 private:
  using Results = std::vector<eager::Storage>;  // of each root
  struct Emptied {
    Results &a, &b;
    ~Emptied() { a.clear(), b.clear(); }
  };

  static std::int64_t piece_of(const Tape& tape, std::int64_t elements) {
    for (const Root& root : tape.roots)
      if (root.index >= detail::array_count(tape)) return elements;
    for (const Node& node : tape.nodes) {
      const Kind kind = node.op->kind;
      const bool alone = kind == Kind::input || kind == Kind::constant || kind == Kind::map ||
                         (kind == Kind::broadcast && tape[node.in[0]].shape.unit() == 1);
      if (!alone) return elements;
    }
    return elements < 8192 ? elements : 8192;
  }

  /// Where an input or root lies whose piece begins at element `at`.
  float* place(float* const* arena, std::size_t index, std::int64_t at) const {
    const auto [array, parameter] = update_place(static_cast<std::int64_t>(index), detail::array_count(replay_.tape()));
    return arena[array] + (parameter < 0 ? at : offsets_[static_cast<std::size_t>(parameter)]);
  }

  void compute(float* const* arena, std::int64_t at, Results& results) {
    const Tape& tape = replay_.tape();
    for (std::size_t i = 0; i < tape.inputs.size(); ++i) replay_.executor().rebind_input(i, place(arena, i, at));
    replay_.run();
    results.clear();
    for (std::size_t r = 0; r < tape.roots.size(); ++r) results.push_back(replay_.root(r).storage());
    replay_.release();
  }

  /// Of the roots that are all parameters' the elements from `from` on; of those that are one parameter's all.
  void write(const Results& results, std::int64_t from, float* const* arena, std::int64_t at, std::int64_t count) const {
    const Tape& tape = replay_.tape();
    for (std::size_t r = 0; r < results.size() && count > 0; ++r) {
      const bool whole = tape.roots[r].index < detail::array_count(tape);
      std::memcpy(place(arena, static_cast<std::size_t>(tape.roots[r].index), at), results[r].as<float>() + (whole ? from : 0),
                  static_cast<std::size_t>(whole ? count : tape[tape.roots[r].node].shape.unit()) * sizeof(float));
    }
  }

  std::int64_t elements_, piece_;
  std::vector<std::int64_t> offsets_;
  eager::Replay replay_;
  std::vector<float> scalars_;
  Results results_, last_;  // the latter: of the last piece, which overlaps the one before it; both begin from the old values
};

}  // namespace gradual
