#pragma once
#include <gradual/train/session_state.hpp>

namespace gradual::detail {

/// Whether sums are two numbers of 16 bits each: files hold the float that they add up to, from which both follow.
template <class Shadow>
inline constexpr bool is_narrow = is_compensated<Shadow> && sizeof(Shadow) == sizeof(float);

/// Returns all arrays of the state of a session whose window has come to `position`.
template <class Arena>
std::vector<StatePiece> pieces_of(const Arena& arena, int states, std::int64_t position, bool closed) {
  using Shadow = typename Arena::Shadow;
  using Real = typename Arena::Real;
  const SessionTables& tables = arena.tables();
  std::vector<StatePiece> result = state_pieces(
      tables.parameters, states, tables.chosen, dtype_of<Real>, [&](int s, int p) { return tables.part_shape(2 + s, p); },
      [&](int a, int p) { return arena.part(a, p); });
  if (position == 0) return result;
  const std::vector<int> numbers = numbers_without_repeats(tables.training.nodes, tables.training.first_adjoint);
  for (const SampleSum& sum : tables.sums) {
    if (!arena.needs(sum)) continue;
    const std::string number = exact_text(numbers[static_cast<std::size_t>(sum.node)]);
    if constexpr (std::is_same_v<Shadow, Compensated<float>>)
      result.push_back({"window/sum/" + number, Shape{sum.unit, 2}, arena.total(sum), DType::f32, true});
    else
      result.push_back({"window/sum/" + number, Shape{sum.unit}, arena.total(sum), dtype_of<typename Arena::Sum>, true});
    const std::int64_t at = position * sum.positions;
    if (!closed && sum.in_blocks && is_inside_block(at, sum.positions))
      result.push_back({"window/open/" + number, Shape{sum.unit}, arena.open_block(sum), dtype_of<Real>, false, &sum});
  }
  return result;
}

template <class Window, class Step>
Checkpoint state_of(const StateKind& kind, const SessionOptions& options, const Window& window, const Step& step) {
  const auto& arena = window.arena();
  using Shadow = typename std::remove_cvref_t<decltype(arena)>::Shadow;
  const std::int64_t position = window.progress().position();
  Checkpoint file;
  for (const StatePiece& piece : pieces_of(arena, kind.states, position, window.is_closed())) {
    std::vector<float> words(static_cast<std::size_t>(piece.words()));
    if (piece.open != nullptr) arena.read_open(*piece.open, position, words.data());
    else arena.queue().read(words.data(), piece.values, piece.words() * 4);
    if constexpr (is_narrow<Shadow>)
      if (piece.is_sum)
        for (float& word : words) word = std::bit_cast<Shadow>(word).value();
    file.add(piece.name, {extents(piece.shape), std::move(words), piece.dtype});
  }
  add_notes(file, kind, fingerprint(arena.tables()),
            {options.seed, window.is_closed(), window.progress().counters(), step.scaler()});
  if (position > 0) add_frozen(file, arena.frozen(), arena.tables().parameters);
  if constexpr (Step::has_opaque) add_opaque(file, step.opaque().optimizer());
  return file;
}

template <class Window, class Step>
void restore(const Checkpoint& file, const StateKind& kind, SessionOptions& options, Window& window, Step& step) {
  auto& arena = window.arena();
  using Shadow = typename std::remove_cvref_t<decltype(arena)>::Shadow;
  const SessionTables& tables = arena.tables();
  const StateCounters c = counters_in(file, kind, fingerprint(tables), window.progress().ends(), &tables.metrics);
  check_frozen(file, arena.frozen(), tables.parameters, c.window.position, false);
  const std::vector<StatePiece> places = pieces_of(arena, kind.states, c.window.position, c.closed);
  for (const StatePiece& piece : places) {
    check_tensor(file, piece.name, piece.shape, piece.dtype);
    if (piece.values == nullptr) refuse_open_block(c.window.position, tables.block_samples);
  }
  std::vector<float> pairs;  // allocated before anything is changed
  if constexpr (is_narrow<Shadow>)
    for (const StatePiece& piece : places)
      if (piece.is_sum) pairs.reserve(std::max(pairs.capacity(), static_cast<std::size_t>(piece.words())));
  if constexpr (Step::has_opaque) step.opaque().optimizer().restore(opaque_in(file));

  for (const StatePiece& piece : places) {
    const std::vector<float>* words = &file.tensor(piece.name, piece.dtype).values;
    if constexpr (is_narrow<Shadow>)
      if (piece.is_sum) {
        pairs = *words;
        for (float& word : pairs) word = std::bit_cast<float>(Shadow::of(word));
        words = &pairs;
      }
    arena.queue().write(piece.values, words->data(), piece.words() * 4);
  }
  if (step.evaluates_twice() && c.window.again > 0) arena.put_back_frozen();  // parameters not frozen when saved had moved
  arena.set_seed(options.seed = c.seed);
  step.resume(c.scaler, c.window.position > 0, arena);
  window.resume(c.window, c.closed);
}

}  // namespace gradual::detail
