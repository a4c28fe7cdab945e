#pragma once
#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include <gradual/autodiff/cpu/executor.hpp>
#include <gradual/autodiff/repeats.hpp>
#include <gradual/train/memory.hpp>
#include <gradual/train/state_file.hpp>

namespace gradual {

template <class Net, class Optimizer, class In>
class Session;

namespace detail {

/// FNV-1a of what the program of a layout computes, but for what it computes again: which sums a window has begun is known
/// by their places in it.
template <class Layout>
std::string fingerprint() {
  using Program = typename Layout::Training;
  std::string text;
  const std::vector<int> numbers = numbers_without_repeats(Program::graph);
  int next = 0;
  for (int i = 0; i < Program::nodes; ++i) {
    if (numbers[static_cast<std::size_t>(i)] != next) continue;
    ++next;
    const Node& node = Program::graph.nodes[i];
    const auto operand = [&](int k) {
      return std::int64_t{node.in[k] < 0 ? -1 : numbers[static_cast<std::size_t>(node.in[k])]};
    };
    text += node.op->name;
    if (Layout::is_cut(i) && !Layout::sums_in_blocks(i)) text += " in one sum";  // which another backend cannot go on with
    for (const std::int64_t number : {operand(0), operand(1), operand(2),
                                      node.attributes.integer[0], node.attributes.integer[1], node.shape.unit()})
      text += ' ' + exact_text(number);
    text += ' ' + exact_text(node.attributes.number);
  }
  return std::to_string(checksum(std::as_bytes(std::span(text))));
}

/// What training changes in a session, as a file: parameters and optimizer state by name, counters as notes and, inside
/// a window, its sums and unfinished blocks.
template <class Net, class Optimizer, class In>
class SessionState {
  using S = Session<Net, Optimizer, In>;
  using Layout = TrainingLayout<Net, gradual::RuleOf<Optimizer>, ShadowFor<Net, Optimizer>>;
  using Training = typename Layout::Training;
  static constexpr MetricSet metrics = MetricSet::of<Training>();
  using Shadow = typename Layout::Shadow;
  using Real = typename Layout::Real;
  /// Of two numbers in 16 bits each: files hold the float that they sum to, which says all of them.
  static constexpr bool narrow = is_compensated<Shadow> && sizeof(Shadow) == sizeof(float);
  static constexpr bool opaque = holds_opaque<HeldBy<Optimizer>>;
  static constexpr int states = stored_states<Optimizer, Layout::states>;

 public:
  [[gnu::cold]] static Checkpoint read(const S& session) {
    Checkpoint file;
    for (const StatePiece& piece : pieces(session, session.position(), session.window_.is_closed())) {
      std::vector<float> words(static_cast<std::size_t>(piece.words()));
      if (piece.cut >= 0) session.arena().read_open(piece.cut, session.position(), words.data());
      else session.arena().queue().read(words.data(), piece.values, piece.words() * 4);
      if constexpr (narrow)
        if (piece.is_sum)
          for (float& word : words) word = std::bit_cast<Shadow>(word).value();
      file.add(piece.name, {extents(piece.shape), std::move(words), piece.dtype});
    }
    add_notes(file, kind(session), fingerprint<Layout>(),
              {session.options_.seed, session.window_.is_closed(), session.progress().counters(), session.step_.scaler()});
    if constexpr (opaque) add_opaque(file, session.step_.opaque().optimizer());
    return file;
  }

  [[gnu::cold]] static void write(S& session, const Checkpoint& file) {
    const StateKind ours = kind(session);
    check_notes(file, ours);
    const StateCounters c = counters_in(file, ours, &metrics);
    check_program(file, c.window.position, fingerprint<Layout>());
    check_place(session.progress().ends(), c.window);
    const std::vector<StatePiece> places = pieces(session, c.window.position, c.closed);
    for (const StatePiece& piece : places) {
      check_tensor(file, piece.name, piece.shape, piece.dtype);
      if (piece.values == nullptr)
        throw OptionError("the state ends at sample " + exact_text(c.window.position) + " of a window, inside a block of " +
                          exact_text(Layout::block_samples()) + " samples; OpenBlocks::always has memory for that");
    }
    std::vector<float> pairs;  // allocated before anything is changed
    if constexpr (narrow)
      for (const StatePiece& piece : places)
        if (piece.is_sum) pairs.reserve(std::max(pairs.capacity(), static_cast<std::size_t>(piece.words())));
    if constexpr (opaque) session.step_.opaque().optimizer().restore(opaque_in(file));

    for (const StatePiece& piece : places) {
      const std::vector<float>* words = &file.tensor(piece.name, piece.dtype).values;
      if constexpr (narrow)
        if (piece.is_sum) {
          pairs = *words;
          for (float& word : pairs) word = std::bit_cast<float>(Shadow::of(word));
          words = &pairs;
        }
      session.arena().queue().write(piece.values, words->data(), piece.words() * 4);
    }
    if constexpr (evaluates_twice<gradual::RuleOf<Optimizer>>)  // who was not frozen had gone elsewhere
      if (c.window.again > 0) session.arena().put_back_frozen();
    session.options_.seed = c.seed;
    session.step_.resume(c.scaler, c.window.position > 0, session.arena());
    session.window_.resume(c.window, c.closed);
  }

 private:
  static StateKind kind(const S& session) {
    return state_kind<Optimizer, Shadow>(Net::declared(), states, session.options_.reduction);
  }

  /// All arrays of the state of a session whose window has come to `position`.
  [[gnu::cold]] static std::vector<StatePiece> pieces(const S& session, std::int64_t position, bool closed) {
    const auto& arena = session.arena();
    std::vector<StatePiece> result = state_pieces<gradual::RuleOf<Optimizer>>(
        Net::declared(), states, dtype_of<Real>, [&](int a, int p) { return arena.part(a, p); });
    if (position == 0) return result;
    const std::vector<int> numbers = numbers_without_repeats(Training::graph);
    for (int i = 0; i < Layout::nodes; ++i) {
      if (!Layout::is_cut(i)) continue;
      const std::string number = exact_text(numbers[static_cast<std::size_t>(i)]);
      const std::int64_t unit = Training::graph.nodes[i].shape.unit();
      const std::int64_t at = position * Layout::positions(i);
      if constexpr (std::is_same_v<Shadow, Compensated<float>>)
        result.push_back({"window/sum/" + number, Shape{unit, 2}, arena.value(i), DType::f32, true});
      else
        result.push_back({"window/sum/" + number, Shape{unit}, arena.value(i), dtype_of<typename Layout::Sum>, true});
      if (!closed && Layout::sums_in_blocks(i) && block_begin(at, Layout::positions(i)) != at)
        result.push_back({"window/open/" + number, Shape{unit}, arena.open_block(i), dtype_of<Real>, false, i});
    }
    return result;
  }
};

}  // namespace detail
}  // namespace gradual
