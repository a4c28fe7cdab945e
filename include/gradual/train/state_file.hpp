#pragma once
#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gradual/autodiff/tape.hpp>
#include <gradual/core/canonical.hpp>
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
[[gnu::cold]] inline std::string name_in(std::string_view text) {
  const std::size_t begin = text.find("T = ") + 4;
  return std::string(text.substr(begin, text.rfind(']') - begin));
}
/// The name that the compiler gives to a type.
template <class T>
std::string type_name() {
  return name_in(named_type<T>());
}

/// One line for each parameter: its name and its extents.
inline std::string declared_parameters(std::span<const ParameterInfo> parameters) {
  std::string text;
  for (const ParameterInfo& parameter : parameters) {
    Message line;
    line << parameter.name.view() << " " << parameter.shape << "\n";
    text += line.view();
  }
  return text;
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
/// Errors: FileError.
[[gnu::cold]] inline LossScaler scaler_in(const Checkpoint& file) {
  LossScaler scaler;
  const auto scale = number_in<double>(file, "loss scale", 1);
  if (!LossScaler::is_scale(scale)) throw FileError("the file's loss scale of " + exact_text(scale) + " is no power of two");
  scaler.set(scale, number_in<std::int64_t>(file, "clean windows", 0));
  return scaler;
}
/// `metrics`: of the net; null: they are not known. Errors: FileError.
[[gnu::cold]] inline StateCounters counters_in(const Checkpoint& file, const StateKind& kind, const MetricSet* metrics) {
  return {number_in<std::uint64_t>(file, "seed", 0),
          number_in<int>(file, "closed", 0) != 0,
          {number_in<std::int64_t>(file, "step", 0), number_in<std::int64_t>(file, "position", 0),
           number_in<std::int64_t>(file, "calls", 0), averages_in(file, "window", metrics),
           averages_in(file, "last window", metrics),
           file.notes.contains("again") ? number_in<std::int64_t>(file, "again", 1) : 0,
           file.notes.contains("dropped") ? number_in<std::int64_t>(file, "dropped", 1) : 0},
          kind.scales_loss ? scaler_in(file) : LossScaler()};
}

inline void expect_note(const Checkpoint& file, const std::string& name, const std::string& ours) {
  if (file.note(name) != ours)
    throw FileError("the state is of another " + name + ": '" + file.note(name) + "' instead of '" + ours + "'");
}

/// Errors: FileError where the window that a state has begun holds other sums than `ours`.
inline void check_program(const Checkpoint& file, std::int64_t position, const std::string& ours) {
  if (position > 0 && file.note("program") != ours)
    throw FileError("the state was saved " + exact_text(position) +
                    " samples into a window, by a model that computes something else of the same parameters, or by another "
                    "version: such states are restored only where no window had begun");
}

/// `program`: which sums a window has begun.
[[gnu::cold]] inline void add_notes(Checkpoint& file, const StateKind& kind, std::string program,
                                    const StateCounters& counters) {
  file.notes = {{"training state", "1"},
                {"block", exact_text(canonical_block)},
                {"parameters", declared_parameters(kind.parameters)},
                {"optimizer", kind.optimizer},
                {"optimizer states", exact_text(kind.states)},
                {"shadow", kind.shadow},
                {"reduction", name_of(kind.reduction)},
                {"program", std::move(program)},
                {"seed", exact_text(counters.seed)},
                {"step", exact_text(counters.window.step)},
                {"position", exact_text(counters.window.position)},
                {"calls", exact_text(counters.window.calls)},
                {"closed", exact_text(static_cast<int>(counters.closed))},
                {"window", exact_text(counters.window.losses)},
                {"last window", exact_text(counters.window.last)}};
  if (counters.window.again > 0) file.notes["again"] = exact_text(counters.window.again);
  if (kind.scales_loss) {
    file.notes["loss scale"] = exact_text(counters.scaler.scale());
    file.notes["clean windows"] = exact_text(counters.scaler.clean_windows());
  }
  if (counters.window.dropped > 0) file.notes["dropped"] = exact_text(counters.window.dropped);
}

/// Errors: FileError for the state of another net, optimizer, block length or reduction, by name.
[[gnu::cold]] inline void check_notes(const Checkpoint& file, const StateKind& kind) {
  if (!file.notes.contains("training state")) throw FileError("the file holds no training state");
  expect_note(file, "training state", "1");
  expect_note(file, "block", exact_text(canonical_block));
  const auto next_line = [](std::string_view& text) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    return std::string(line);
  };
  const std::string declared = declared_parameters(kind.parameters);
  for (std::string_view theirs = file.note("parameters"), ours = declared; !theirs.empty() || !ours.empty();) {
    const std::string a = next_line(theirs), b = next_line(ours);
    if (a != b)
      throw FileError("the state is of another net: it has " + (a.empty() ? "no parameter" : "'" + a + "'") +
                      " where this one has " + (b.empty() ? "none" : "'" + b + "'"));
  }
  expect_note(file, "optimizer", kind.optimizer);
  expect_note(file, "optimizer states", exact_text(kind.states));
  expect_note(file, "shadow", kind.shadow);
  expect_note(file, "reduction", name_of(kind.reduction));
}

/// Errors: OptionError for a window that has come further than these let one come.
[[gnu::cold]] inline void check_place(const WindowEnds& ends, const WindowCounters& c) {
  const std::int64_t every = ends.calls(), most = ends.samples(c.step), samples = c.again > 0 ? c.again : most - c.dropped;
  const double full = ends.weight(c.step);
  const auto refuse = [&](const std::string& ours) {
    throw OptionError("the state holds " + exact_text(c.position) + " samples of " + exact_text(c.calls) +
                      " calls of a window; this session's are of " + ours);
  };
  if (every != 0) {
    if (c.calls >= every || (c.calls > 0 && c.position + c.dropped <= 0)) refuse(exact_text(every) + " calls");
    return;
  }
  if (c.calls != 0 || c.position >= samples || samples > most) refuse(exact_text(std::min(samples, most)) + " samples");
  if (c.position != 0 && c.losses.weight() >= full)
    refuse("weight " + exact_text(full) + ", the state's is " + exact_text(c.losses.weight()));
}

inline constexpr std::string_view opaque_prefix = "opaque/";

template <class Opaque>
[[gnu::cold]] void add_opaque(Checkpoint& file, const Opaque& optimizer) {
  static_assert(requires(Opaque& o, const Opaque& c, const Checkpoint& own) { o.restore(own), Checkpoint(c.state()); },
                "a session's state needs its opaque optimizer's: Checkpoint state() const and restore(const Checkpoint&)");
  const Checkpoint own = optimizer.state();
  for (const auto& [name, tensor] : own.tensors) file.add(std::string(opaque_prefix) + name, tensor);
  for (const auto& [name, note] : own.notes) file.notes[std::string(opaque_prefix) + name] = note;
}
[[gnu::cold]] inline Checkpoint opaque_in(const Checkpoint& file) {
  Checkpoint own;
  const auto take = [](const auto& from, auto& to) {
    for (const auto& [name, value] : from)
      if (name.starts_with(opaque_prefix)) to[name.substr(opaque_prefix.size())] = value;
  };
  take(file.tensors, own.tensors);
  take(file.notes, own.notes);
  return own;
}

}  // namespace gradual::detail
