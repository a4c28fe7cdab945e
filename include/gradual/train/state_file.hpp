#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gradual/autodiff/tape.hpp>
#include <gradual/optim/accumulate.hpp>
#include <gradual/optim/parameter_names.hpp>
#include <gradual/train/checkpoint.hpp>
#include <gradual/train/loss_scaler.hpp>
#include <gradual/train/notes.hpp>
#include <gradual/train/window_progress.hpp>

// What the state of every session is made of: parameters and optimizer state by name, counters as notes.

namespace gradual::detail {

template <class T>
const char* named_type() {
  return __PRETTY_FUNCTION__;
}
[[gnu::cold]] std::string name_in(std::string_view text);
/// The name that the compiler gives to a type.
template <class T>
std::string type_name() {
  return name_in(named_type<T>());
}

// An opaque optimizer keeps its own; the gradient that it is handed is made anew in each step.
template <class Optimizer, int States>
inline constexpr int stored_states = holds_opaque<HeldBy<Optimizer>> ? 0 : States;

/// Of what a state is, which must be the same where it is restored.
struct StateKind {
  std::span<const ParameterInfo> parameters;
  std::string optimizer;
  int states = 0;
  const char* shadow = "";
  bool scales_loss = false;
  Reduction reduction = Reduction::mean;
};
template <class Optimizer, ShadowType S>
StateKind state_kind(std::span<const ParameterInfo> parameters, int states, Reduction reduction) {
  return {parameters, type_name<HeldBy<Optimizer>>(), states, shadow_name<S>,
          loss_scales<gradual::RuleOf<Optimizer>> > 0, reduction};
}

/// One array of a state, on its device. Doubles take the room of two values each.
struct StatePiece {
  std::string name;
  Shape shape;
  void* values;
  DType dtype = DType::f32;
  bool is_sum = false;  ///< of a window, as kernels add to it
  int cut = -1;         ///< whose unfinished block it is
  std::int64_t words() const { return shape.unit() * (size_of(dtype) / std::int64_t{sizeof(float)}); }
};

/// Those of the parameters and of `states` states of a rule. `part(a, p)`: parameter p's part of the parameters (0), the
/// summed gradients (1) or a state (2, …); `real`: the type of parameters and states.
template <class Rule, class Part>
[[gnu::cold]] std::vector<StatePiece> state_pieces(std::span<const ParameterInfo> parameters, int states, DType real,
                                                   Part part) {
  std::vector<StatePiece> result;
  for (int p = 0; p < static_cast<int>(parameters.size()); ++p) {
    const ParameterInfo& parameter = parameters[static_cast<std::size_t>(p)];
    const std::string name = parameter.name.string();
    result.push_back({name, parameter.shape, part(0, p), real});
    for (int s = 0; s < states; ++s)  // who goes on may choose other parameters
      if (const Shape shape = state_shape<Rule>(s, parameter.shape); shape.unit() > 0 && !is_choice<Rule>(s))
        result.push_back({"optimizer/" + exact_text(s) + "/" + name, shape, part(2 + s, p), real});
  }
  return result;
}

/// What a session counts, and draws from.
struct StateCounters {
  std::uint64_t seed = 0;
  bool closed = true;  ///< whether no block of the window is open
  WindowCounters window;
  LossScaler scaler = {};
};
/// `metrics`: of the net; null: they are not known. Errors: FileError.
[[gnu::cold]] StateCounters counters_in(const Checkpoint& file, const StateKind& kind, const MetricSet* metrics);

/// Errors: FileError where the window that a state has begun holds other sums than `ours`.
void check_program(const Checkpoint& file, std::int64_t position, const std::string& ours);

/// `program`: which sums a window has begun.
[[gnu::cold]] void add_notes(Checkpoint& file, const StateKind& kind, std::string program, const StateCounters& counters);

/// Errors: FileError for the state of another net, optimizer, block length or reduction, by name.
[[gnu::cold]] void check_notes(const Checkpoint& file, const StateKind& kind);

/// Errors: OptionError for a window that has come further than these let one come.
[[gnu::cold]] void check_place(const WindowEnds& ends, const WindowCounters& c);

inline constexpr std::string_view opaque_prefix = "opaque/";

template <class Opaque>
[[gnu::cold]] void add_opaque(Checkpoint& file, const Opaque& optimizer) {
  static_assert(requires(Opaque& o, const Opaque& c, const Checkpoint& own) { o.restore(own), Checkpoint(c.state()); },
                "a session's state needs its opaque optimizer's: Checkpoint state() const and restore(const Checkpoint&)");
  const Checkpoint own = optimizer.state();
  for (const auto& [name, tensor] : own.tensors) file.add(std::string(opaque_prefix) + name, tensor);
  for (const auto& [name, note] : own.notes) file.notes[std::string(opaque_prefix) + name] = note;
}
[[gnu::cold]] Checkpoint opaque_in(const Checkpoint& file);

}  // namespace gradual::detail

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/train/state_file.ipp>
#endif
