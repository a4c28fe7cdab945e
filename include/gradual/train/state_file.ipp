#pragma once
#include <gradual/train/state_file.hpp>

#include <algorithm>

#include <gradual/core/canonical.hpp>

namespace gradual::detail {

/// Returns a type's name in clang's spelling.
inline std::string with_one_spelling(std::string name) {
  for (const auto& [gcc, clang] : {std::pair(" >", ">"), std::pair("{anonymous}", "(anonymous namespace)")})
    for (std::size_t at; (at = name.find(gcc)) != name.npos;) name.replace(at, std::string_view(gcc).size(), clang);
  return name;
}

GRADUAL_ONCE std::string name_in(std::string_view text) {
  const std::size_t begin = text.find("T = ") + 4;
  return with_one_spelling(std::string(text.substr(begin, text.rfind(']') - begin)));
}

/// Returns one line for each parameter: its name and its extents.
inline std::string declared_parameters(std::span<const ParameterInfo> parameters) {
  std::string text;
  for (const ParameterInfo& parameter : parameters) {
    Message line;
    line << parameter.name.view() << " " << parameter.shape << "\n";
    text += line.view();
  }
  return text;
}

/// Errors: FileError.
inline LossScaler scaler_in(const Checkpoint& file) {
  LossScaler scaler;
  const auto scale = number_in<double>(file, "loss scale", 1);
  if (!LossScaler::is_scale(scale)) throw FileError("the file's loss scale of " + exact_text(scale) + " is not a power of two");
  scaler.set(scale, number_in<std::int64_t>(file, "clean windows", 0));
  return scaler;
}

GRADUAL_ONCE void add_notes(Checkpoint& file, const StateKind& kind, std::string program, const StateCounters& counters) {
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

inline void expect_note(const Checkpoint& file, const std::string& name, const std::string& ours) {
  if (file.note(name) != ours)
    throw FileError("the state is of another " + name + ": '" + file.note(name) + "' instead of '" + ours + "'");
}

/// Errors: FileError.
inline void check_notes(const Checkpoint& file, const StateKind& kind) {
  check_is_state(file, false);
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

/// Errors: FileError where the window begun in a state holds other sums than `ours`.
inline void check_program(const Checkpoint& file, std::int64_t position, const std::string& ours) {
  if (position > 0 && file.note("program") != ours)
    throw FileError("the state was saved " + exact_text(position) +
                    " samples into a window, by a model that computes something else from the same parameters, or by another "
                    "version: such states can be restored only if no window had begun");
}

/// Errors: OptionError.
inline void check_place(const WindowEnds& ends, const WindowCounters& c) {
  const std::int64_t every = ends.calls(), most = ends.samples(c.step), samples = c.again > 0 ? c.again : most - c.dropped;
  const double full = ends.weight(c.step);
  const auto refuse = [&](const std::string& ours) {
    throw OptionError("the state holds " + exact_text(c.position) + " samples of " + exact_text(c.calls) +
                      " calls of a window; this session's windows are of " + ours);
  };
  if (every != 0) {
    if (c.calls >= every || (c.calls > 0 && c.position + c.dropped <= 0)) refuse(exact_text(every) + " calls");
    return;
  }
  if (c.calls != 0 || c.position >= samples || samples > most) refuse(exact_text(std::min(samples, most)) + " samples");
  if (c.position != 0 && c.losses.weight() >= full)
    refuse("weight " + exact_text(full) + ", the state's is " + exact_text(c.losses.weight()));
}

GRADUAL_ONCE StateCounters counters_in(const Checkpoint& file, const StateKind& kind, const std::string& program,
                                       const WindowEnds& ends, const MetricSet* metrics) {
  check_notes(file, kind);
  const auto samples = [&](const char* name, std::int64_t least) { return number_in(file, name, least, most_samples); };
  StateCounters c{number_in<std::uint64_t>(file, "seed", 0),
                  number_in<int>(file, "closed", 0) != 0,
                  {number_in<std::int64_t>(file, "step", 0), samples("position", 0),
                   number_in<std::int64_t>(file, "calls", 0), averages_in(file, "window", metrics),
                   averages_in(file, "last window", metrics),
                   kind.twice && file.notes.contains("again") ? samples("again", 1) : 0,
                   file.notes.contains("dropped") ? samples("dropped", 1) : 0},
                  kind.scales_loss ? scaler_in(file) : LossScaler()};
  check_program(file, c.window.position, program);
  check_place(ends, c.window);
  return c;
}

inline constexpr const char* frozen_note = "frozen/";

GRADUAL_ONCE void add_frozen(Checkpoint& file, const Frozen& frozen, std::span<const ParameterInfo> parameters) {
  for (const int p : frozen.parameters())
    file.notes[frozen_note + parameters[static_cast<std::size_t>(p)].name.string()] = "";
}
GRADUAL_ONCE void check_frozen(const Checkpoint& file, const Frozen& frozen, std::span<const ParameterInfo> parameters,
                               std::int64_t position, bool exactly) {
  for (int p = 0; p < static_cast<int>(parameters.size()); ++p) {
    const std::string name = parameters[static_cast<std::size_t>(p)].name.string();
    const bool theirs = file.notes.contains(frozen_note + name), ours = frozen.contains(p);
    if (theirs == ours || position == 0 || (ours && !exactly)) continue;
    throw FileError("the state ends at sample " + exact_text(position) + " of a window in which '" + name +
                    (theirs ? "' is frozen: freeze it here as well" : "' is not frozen: do not freeze it here") +
                    ", or save where a window ends");
  }
}

[[noreturn]] GRADUAL_ONCE void refuse_open_block(std::int64_t position, std::int64_t block_samples) {
  throw OptionError("the state ends at sample " + exact_text(position) + " of a window, inside a block of " +
                    exact_text(block_samples) + " samples; OpenBlocks::always has memory for that");
}

GRADUAL_ONCE Checkpoint opaque_in(const Checkpoint& file) {
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
