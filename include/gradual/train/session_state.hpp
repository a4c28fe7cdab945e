#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gradual/autodiff/cpu/executor.hpp>
#include <gradual/autodiff/repeats.hpp>
#include <gradual/core/canonical.hpp>
#include <gradual/train/checkpoint.hpp>
#include <gradual/train/memory.hpp>
#include <gradual/train/notes.hpp>
#include <gradual/train/window.hpp>

namespace gradual {

template <class Net, class Optimizer, class In>
class Session;

namespace detail {

template <class T>
const char* named_type() {
  return __PRETTY_FUNCTION__;
}
/// The name that the compiler gives to a type.
template <class T>
std::string type_name() {
  const std::string_view text = named_type<T>();
  const std::size_t begin = text.find("T = ") + 4;
  return std::string(text.substr(begin, text.rfind(']') - begin));
}

/// One line for each parameter: its name and its extents.
template <class Net>
std::string declared_parameters() {
  std::string text;
  for (int p = 0; p < Net::parameter_count; ++p) {
    Message line;
    line << Net::parameter(p).name.view() << " " << Net::parameter(p).shape << "\n";
    text += line.view();
  }
  return text;
}

/// FNV-1a of what a program computes, but for what it computes again: which sums a window has begun is known by their
/// places in it.
template <class Program>
std::string fingerprint() {
  std::string text;
  const std::vector<int> numbers = numbers_without_repeats(Program::graph);
  int next = 0;
  for (int i = 0; i < Program::nodes; ++i) {
    if (numbers[static_cast<std::size_t>(i)] != next) continue;
    ++next;
    const Node& node = Program::graph.nodes[i];
    const auto operand = [&](int k) { return std::int64_t{node.in[k] < 0 ? -1 : numbers[static_cast<std::size_t>(node.in[k])]}; };
    text += node.op->name;
    for (const std::int64_t number : {operand(0), operand(1), operand(2),
                                      node.attributes.integer[0], node.attributes.integer[1], node.shape.unit()})
      text += ' ' + exact_text(number);
    for (const double number : node.attributes.number) text += ' ' + exact_text(number);
  }
  return checksum(std::as_bytes(std::span(text)));
}

/// What training changes in a session, as a file: parameters and optimizer state by name, counters as notes and, inside
/// a window, its sums and unfinished blocks.
template <class Net, class Optimizer, class In>
class SessionState {
  using S = Session<Net, Optimizer, In>;
  using Layout = TrainingLayout<Net, gradual::RuleOf<Optimizer>>;
  using Training = typename Net::Training;
  static constexpr int metrics = Training::count_of(Role::metric);
  static constexpr bool opaque = holds_opaque<HeldBy<Optimizer>>;
  // An opaque optimizer keeps its own; the gradient that it is handed is made anew in each step.
  static constexpr int states = opaque ? 0 : Layout::states;
  static constexpr std::string_view prefix = "opaque/";

 public:
  [[gnu::cold]] static Checkpoint read(const S& session) {
    Checkpoint file;
    for (const Piece& piece : pieces(session, session.position_, session.closed_)) {
      const auto values = session.arena_.queue().view(piece.values, piece.shape.unit());
      file.add(piece.name, {extents(piece.shape), {values.begin(), values.end()}});
    }
    file.notes = {{"training state", "1"},
                  {"block", exact_text(canonical_block)},
                  {"parameters", declared_parameters<Net>()},
                  {"optimizer", type_name<HeldBy<Optimizer>>()},
                  {"optimizer states", exact_text(states)},
                  {"program", fingerprint<Training>()},
                  {"seed", exact_text(session.options_.seed)},
                  {"step", exact_text(session.step_count_)},
                  {"position", exact_text(session.position_)},
                  {"calls", exact_text(session.calls_)},
                  {"closed", exact_text(static_cast<int>(session.closed_))},
                  {"window", exact_text(session.window_)},
                  {"last window", exact_text(session.last_)}};
    if constexpr (opaque) add_opaque(file, session.opaque_.optimizer());
    return file;
  }

  [[gnu::cold]] static void write(S& session, const Checkpoint& file) {
    check_kind(file);
    const auto seed = number_in<std::uint64_t>(file, "seed", 0);
    const auto step = number_in<std::int64_t>(file, "step", 0), position = number_in<std::int64_t>(file, "position", 0),
               calls = number_in<std::int64_t>(file, "calls", 0);
    const bool closed = number_in<int>(file, "closed", 0) != 0;
    const Averages window = averages_in(file, "window", metrics), last = averages_in(file, "last window", metrics);
    if (position > 0) expect(file, "program", fingerprint<Training>());
    check_window(session, step, position, calls, window.weight());
    const std::vector<Piece> places = pieces(session, position, closed);
    for (const Piece& piece : places) {
      if (file.tensor(piece.name).shape != extents(piece.shape))
        throw FileError("tensor '" + piece.name + "' has another shape than " + text_of(piece.shape));
      if (piece.values == nullptr)
        throw OptionError("the state ends at sample " + exact_text(position) + " of a window, inside a block of " +
                          exact_text(Layout::block_samples()) + " samples; OpenBlocks::always has memory for that");
    }
    if constexpr (opaque) session.opaque_.optimizer().restore(opaque_in(file));

    for (const Piece& piece : places) session.arena_.queue().write(piece.values, file.tensor(piece.name).values.data(), piece.shape.unit() * 4);
    session.options_.seed = seed;
    session.step_count_ = step, session.position_ = position, session.calls_ = calls, session.closed_ = closed;
    session.window_ = window, session.last_ = last;
    if (position > 0)  // what is derived from the parameters is made where a window begins, and this one has begun
      session.arena_.queue().template run<Training, Phase::prologue>(session.arena_.arguments(0, position, true, false));
  }

 private:
  template <class Opaque>
  [[gnu::cold]] static void add_opaque(Checkpoint& file, const Opaque& optimizer) {
    static_assert(requires(Opaque& o, const Opaque& c, const Checkpoint& own) { o.restore(own), Checkpoint(c.state()); },
                  "a session's state needs its opaque optimizer's: Checkpoint state() const and restore(const Checkpoint&)");
    const Checkpoint own = optimizer.state();
    for (const auto& [name, tensor] : own.tensors) file.add(std::string(prefix) + name, tensor);
    for (const auto& [name, note] : own.notes) file.notes[std::string(prefix) + name] = note;
  }
  [[gnu::cold]] static Checkpoint opaque_in(const Checkpoint& file) {
    Checkpoint own;
    const auto take = [](const auto& from, auto& to) {
      for (const auto& [name, value] : from)
        if (name.starts_with(prefix)) to[name.substr(prefix.size())] = value;
    };
    take(file.tensors, own.tensors);
    take(file.notes, own.notes);
    return own;
  }

  struct Piece {
    std::string name;
    Shape shape;
    float* values;
  };

  /// All arrays of the state of a session whose window has come to `position`.
  [[gnu::cold]] static std::vector<Piece> pieces(const S& session, std::int64_t position, bool closed) {
    std::vector<Piece> result;
    const auto& arena = session.arena_;
    for (int p = 0; p < Net::parameter_count; ++p) {
      const std::string name = Net::parameter(p).name.string();
      const Shape shape = Net::parameter(p).shape;
      result.push_back({name, shape, arena.parameters() + Net::parameter_offset(p)});
      for (int s = 0; s < states; ++s)
        result.push_back({"optimizer/" + exact_text(s) + "/" + name, shape, arena.state(s) + Net::parameter_offset(p)});
    }
    if (position == 0) return result;
    const std::vector<int> numbers = numbers_without_repeats(Training::graph);
    for (int i = 0; i < Layout::nodes; ++i) {
      if (!Layout::is_cut(i)) continue;
      const std::string number = exact_text(numbers[static_cast<std::size_t>(i)]);
      const Shape shape{Training::graph.nodes[i].shape.unit()};
      const std::int64_t at = position * Layout::positions(i);
      result.push_back({"window/sum/" + number, shape, arena.value(i)});
      if (!closed && block_begin(at, Layout::positions(i)) != at)
        result.push_back({"window/open/" + number, shape, arena.open_block(i)});
    }
    return result;
  }

  static void expect(const Checkpoint& file, const std::string& name, const std::string& ours) {
    if (file.note(name) != ours)
      throw FileError("the state is of another " + name + ": '" + file.note(name) + "' instead of '" + ours + "'");
  }

  /// Takes the first line off a text.
  static std::string_view next_line(std::string_view& text) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    return line;
  }

  [[gnu::cold]] static void check_kind(const Checkpoint& file) {
    if (!file.notes.contains("training state")) throw FileError("the file holds no training state");
    expect(file, "training state", "1");
    expect(file, "block", exact_text(canonical_block));
    const std::string declared = declared_parameters<Net>();
    for (std::string_view theirs = file.note("parameters"), ours = declared; !theirs.empty() || !ours.empty();) {
      const std::string a(next_line(theirs)), b(next_line(ours));
      if (a != b)
        throw FileError("the state is of another net: it has " + (a.empty() ? "no parameter" : "'" + a + "'") +
                        " where this one has " + (b.empty() ? "none" : "'" + b + "'"));
    }
    expect(file, "optimizer", type_name<HeldBy<Optimizer>>());
    expect(file, "optimizer states", exact_text(states));
  }

  [[gnu::cold]] static void check_window(const S& session, std::int64_t step, std::int64_t position, std::int64_t calls, double weight) {
    const std::int64_t samples = window_samples(session.options_, step);
    const double full = full_weight(session.options_, step);
    const bool fits = session.every_ == 0 ? calls == 0 && position < samples && (position == 0 || !(weight >= full))
                                          : calls < session.every_ && (calls > 0) == (position > 0);
    if (!fits)
      throw OptionError("the state holds " + exact_text(position) + " samples of " + exact_text(calls) +
                        " calls of a window; this session's are of " +
                        (session.every_ != 0 ? exact_text(session.every_) + " calls"
                         : position < samples && calls == 0 ? "weight " + exact_text(full) + ", the state's is " + exact_text(weight)
                                                            : exact_text(samples) + " samples"));
  }

  static std::string text_of(const Shape& shape) {
    Message text;
    text << shape;
    return text.string();
  }
};

/// Calls f(content of the file), whose errors are then given the file's path.
template <class F>
void in_file(const std::string& path, F f) {
  const Checkpoint file = load(path);
  try {
    f(file);
  } catch (const FileError& error) {
    throw FileError(path + ": " + error.what());
  } catch (const OptionError& error) {
    throw OptionError(path + ": " + error.what());
  }
}

}  // namespace detail
}  // namespace gradual
