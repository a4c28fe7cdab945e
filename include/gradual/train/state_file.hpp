#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gradual/autodiff/tape.hpp>
#include <gradual/files/checkpoint.hpp>
#include <gradual/train/frozen.hpp>
#include <gradual/train/loss_scaler.hpp>
#include <gradual/train/notes.hpp>
#include <gradual/train/session_tables.hpp>
#include <gradual/train/window_progress.hpp>

// The parts of every session's state: parameters and optimizer state by name, counters as notes.

namespace gradual::detail {

/// Returns a text that holds the compiler's name of T; `name_in` extracts it, in one spelling for all compilers.
template <class T>
const char* named_type() {
  return __PRETTY_FUNCTION__;
}
std::string name_in(std::string_view text);

/// The properties that a session must share with the one whose state it restores.
struct StateKind {
  std::span<const ParameterInfo> parameters;
  std::string optimizer;
  int states = 0;
  const char* shadow = "";
  bool scales_loss = false;
  Reduction reduction = Reduction::mean;
  bool twice = false;  ///< whether the optimizer evaluates each window twice
};

/// One array of a state, on its device. A double takes the room of two values.
struct StatePiece {
  std::string name;
  Shape shape;
  void* values;
  DType dtype = DType::f32;
  bool is_sum = false;  ///< whether it is a window's, in the form in which kernels add to it
  const SampleSum* open = nullptr;  ///< the sum whose unfinished block it is
  std::int64_t words() const { return shape.unit() * (size_of(dtype) / std::int64_t{sizeof(float)}); }
};

/// Returns those of the parameters and of `states` states of a rule. `chosen`: a bit for each state that a session which
/// restores it may choose anew; `real`: the type of parameters and states; `shape_of(s, p)`: the shape of parameter p's part of
/// state s; `part(a, p)`: its part of the parameters (0), the summed gradients (1) or a state (2, …).
template <class ShapeOf, class Part>
std::vector<StatePiece> state_pieces(std::span<const ParameterInfo> parameters, int states, std::uint64_t chosen,
                                     DType real, ShapeOf shape_of, Part part) {
  std::vector<StatePiece> result;
  for (int p = 0; p < static_cast<int>(parameters.size()); ++p) {
    const ParameterInfo& parameter = parameters[static_cast<std::size_t>(p)];
    const std::string name = parameter.name.string();
    result.push_back({name, parameter.shape, part(0, p), real});
    for (int s = 0; s < states; ++s)
      if (const Shape shape = shape_of(s, p); shape.unit() > 0 && (chosen >> s & 1) == 0)
        result.push_back({"optimizer/" + exact_text(s) + "/" + name, shape, part(2 + s, p), real});
  }
  return result;
}

/// The counters of a session, and the seed of its random numbers.
struct StateCounters {
  std::uint64_t seed = 0;
  bool closed = true;  ///< whether the window has no open block
  WindowCounters window;
  LossScaler scaler = {};
};
/// `program`: identifies the sums of a window that has begun.
void add_notes(Checkpoint& file, const StateKind& kind, std::string program, const StateCounters& counters);

/// Reads what `add_notes` has written. `metrics`: those of the net; null where unknown. Errors: FileError for the state of
/// another net, optimizer, block length or reduction, naming it, or where the window begun in it holds other sums than
/// `program`; OptionError for a window that has taken more than `ends` allows.
StateCounters counters_in(const Checkpoint& file, const StateKind& kind, const std::string& program, const WindowEnds& ends,
                          const MetricSet* metrics);

/// Notes the frozen parameters of a window, whose gradients are not in a state.
void add_frozen(Checkpoint& file, const Frozen& frozen, std::span<const ParameterInfo> parameters);
/// Errors: FileError for a parameter frozen in the file but not here or, if the window's sums must be `exactly` the file's, the
/// other way round.
void check_frozen(const Checkpoint& file, const Frozen& frozen, std::span<const ParameterInfo> parameters,
                  std::int64_t position, bool exactly);

/// Throws OptionError for a window that ends inside a block, for which a session has no memory.
[[noreturn]] void refuse_open_block(std::int64_t position, std::int64_t block_samples);

inline constexpr std::string_view opaque_prefix = "opaque/";

template <class Opaque>
void add_opaque(Checkpoint& file, const Opaque& optimizer) {
  static_assert(requires(Opaque& o, const Opaque& c, const Checkpoint& own) { o.restore(own), Checkpoint(c.state()); },
                "a session's state needs its opaque optimizer's: Checkpoint state() const and restore(const Checkpoint&)");
  const Checkpoint own = optimizer.state();
  for (const auto& [name, tensor] : own.tensors) file.add(std::string(opaque_prefix) + name, tensor);
  for (const auto& [name, note] : own.notes) file.notes[std::string(opaque_prefix) + name] = note;
}
Checkpoint opaque_in(const Checkpoint& file);

}  // namespace gradual::detail

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/train/state_file.ipp>
#endif
