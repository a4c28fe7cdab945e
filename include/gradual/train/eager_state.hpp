#pragma once
#include <vector>

#include <gradual/eager/window_sums.hpp>
#include <gradual/optim/accumulate.hpp>
#include <gradual/optim/parameter_names.hpp>
#include <gradual/train/state_file.hpp>

namespace gradual {

template <class Net, class Optimizer, class In>
class Session;

namespace detail {

/// A copy of `count` words of four bytes on the device.
[[gnu::cold]] std::vector<float> fetched(const Device& device, const void* from, std::int64_t count);

/// Of each backward a note: its fingerprint and, for each of its sums, where the open block ends, 0 where there is none,
/// −1 where nothing was added.
[[gnu::cold]] void add_sums(Checkpoint& file, const std::vector<eager::BegunSums>& all, const Device& device);

/// Errors: FileError, MemoryError.
[[gnu::cold]] std::vector<eager::BegunSums> sums_in(const Checkpoint& file, const Device& device);

/// What training changes in an eager session, as a file: that of a compiled session of the same parameters and optimizer
/// but inside a window, whose sums are known by the backward that they are for.
template <class Real, class Optimizer>
class EagerState {
  using S = Session<ParametersIn<Real>, Optimizer, Inputs<>>;
  using Rule = gradual::RuleOf<Optimizer>;
  static constexpr bool opaque = holds_opaque<HeldBy<Optimizer>>;
  static constexpr int states = opaque ? 0 : state_size<gradual::StateOf<Rule>>();
  static constexpr const char* program = "eager";

 public:
  [[gnu::cold]] static Checkpoint read(const S& session) {
    session.parameters().require_values();
    Checkpoint file;
    const Device& device = session.arrays_.device();
    for (const StatePiece& piece : pieces(session))
      file.add(piece.name, {extents(piece.shape), fetched(device, piece.values, piece.words()), piece.dtype});
    WindowCounters counters = session.progress_.counters();
    const bool begun = counters.position > 0;
    if (!begun) counters.losses = Averages();
    add_notes(file, kind(session), program, {session.options_.seed, !begun, counters, session.scaler_});
    if (begun) add_sums(file, session.sums_.begun(), device);
    if constexpr (opaque) add_opaque(file, session.opaque_.optimizer());
    return file;
  }

  [[gnu::cold]] static void write(S& session, const Checkpoint& file) {
    session.parameters().require_values();
    const StateKind ours = kind(session);
    check_notes(file, ours);
    const StateCounters c = counters_in(file, ours, nullptr);
    check_program(file, c.window.position, program);
    check_place(session.progress_.ends(), c.window);
    const std::vector<StatePiece> places = pieces(session);
    for (const StatePiece& piece : places) check_tensor(file, piece.name, piece.shape, piece.dtype);
    auto begun = session.sums_.in_order(c.window.position > 0 ? sums_in(file, session.arrays_.device())
                                                              : std::vector<eager::BegunSums>());
    if constexpr (opaque) session.opaque_.optimizer().restore(opaque_in(file));

    for (const StatePiece& piece : places)
      session.arrays_.device().copy(piece.values, file.tensor(piece.name, piece.dtype).values.data(), piece.words() * 4);
    if constexpr (evaluates_twice<Rule>)  // who was not frozen had gone elsewhere
      if (c.window.again > 0) session.arrays_.put_back_frozen();
    session.sums_.resume(std::move(begun));
    session.options_.seed = c.seed;
    session.progress_.resume(c.window);
    session.scaler_.resume(c.scaler, c.window.position > 0);
  }

 private:
  static StateKind kind(const S& session) {
    return {session.parameters().declared(), name_in(named_type<HeldBy<Optimizer>>()), states, shadow_name<Real>,
            loss_scales<Rule> > 0, session.options_.reduction};
  }

  [[gnu::cold]] static std::vector<StatePiece> pieces(const S& session) {
    const std::span<const ParameterInfo> parameters = session.parameters().declared();
    return state_pieces(
        parameters, states, chosen_states<Rule>(), dtype_of<Real>,
        [&](int s, int p) { return state_shape<Rule>(s, parameters[static_cast<std::size_t>(p)].shape); },
        [&](int a, int p) { return session.arrays_.part(a, p).data(); });
  }
};

}  // namespace detail
}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/train/eager_state.ipp>
#endif
