#pragma once
#include <vector>

#include <gradual/optim/accumulate.hpp>
#include <gradual/optim/parameter_names.hpp>
#include <gradual/train/eager_core.hpp>
#include <gradual/train/state_file.hpp>

namespace gradual::detail {

/// Returns a copy of `count` four-byte words on the device.
std::vector<float> fetched(const Device& device, const void* from, std::int64_t count);

/// Adds a note for each backward pass: its fingerprint and, for each of its sums, where the open block ends, 0 where none is
/// open, −1 where nothing was added.
void add_sums(Checkpoint& file, const std::vector<eager::BegunSums>& all, const Device& device);

/// Reads them. Errors: FileError, MemoryError.
std::vector<eager::BegunSums> sums_in(const Checkpoint& file, const Device& device);

/// The state of an eager session as a file: that of a compiled session of the same parameters and optimizer, except inside a
/// window, where the backward pass of each sum identifies it.
template <class Real, class Optimizer>
class EagerState {
  using Core = EagerCore<Real, Optimizer>;
  using Rule = gradual::RuleOf<Optimizer>;
  static constexpr bool opaque = holds_opaque<HeldBy<Optimizer>>;
  static constexpr const char* program = "eager, with frozen names";

 public:
  static constexpr int states = opaque ? 0 : state_size<StateOf<Rule>>();  ///< an opaque optimizer's is a copy of the gradient

  static Checkpoint read(const Core& core) {
    core.arrays_.parameters().require_values();
    Checkpoint file;
    const Device& device = core.arrays_.device();
    for (const StatePiece& piece : pieces(core))
      file.add(piece.name, {extents(piece.shape), fetched(device, piece.values, piece.words()), piece.dtype});
    WindowCounters counters = core.progress_.counters();
    const bool begun = counters.position > 0;
    if (!begun) counters.losses = Averages();
    add_notes(file, kind(core), program, {core.options_.seed, !begun, counters, core.scaler_});
    if (begun) {
      add_frozen(file, core.arrays_.frozen(), core.arrays_.parameters().declared());
      add_sums(file, core.sums_.begun(), device);
    }
    if constexpr (opaque) add_opaque(file, core.opaque_.optimizer());
    return file;
  }

  static void write(Core& core, const Checkpoint& file) {
    core.arrays_.parameters().require_values();
    const StateCounters c = counters_in(file, kind(core), program, core.progress_.ends(), nullptr);
    check_frozen(file, core.arrays_.frozen(), core.arrays_.parameters().declared(), c.window.position, true);
    const std::vector<StatePiece> places = pieces(core);
    for (const StatePiece& piece : places) check_tensor(file, piece.name, piece.shape, piece.dtype);
    std::vector<eager::BegunSums> begun;
    if (c.window.position > 0) begun = sums_in(file, core.arrays_.device());
    if constexpr (opaque) core.opaque_.optimizer().restore(opaque_in(file));

    for (const StatePiece& piece : places)
      core.arrays_.device().copy(piece.values, file.tensor(piece.name, piece.dtype).values.data(), piece.words() * 4);
    if constexpr (evaluates_twice<Rule>)  // parameters not frozen when saved had moved
      if (c.window.again > 0) core.arrays_.put_back_frozen();
    core.sums_.resume(std::move(begun));
    core.options_.seed = c.seed;
    core.progress_.resume(c.window);
    core.scaler_.resume(c.scaler, c.window.position > 0);
  }

 private:
  static StateKind kind(const Core& core) {
    return {core.arrays_.parameters().declared(), name_in(named_type<HeldBy<Optimizer>>()), states, shadow_name<Real>,
            loss_scales<Rule> > 0, core.options_.reduction, evaluates_twice<Rule>};
  }

  static std::vector<StatePiece> pieces(const Core& core) {
    const std::span<const ParameterInfo> parameters = core.arrays_.parameters().declared();
    return state_pieces(
        parameters, states, chosen_states<Rule>(), dtype_of<Real>,
        [&](int s, int p) { return state_shape<Rule>(s, parameters[static_cast<std::size_t>(p)].shape); },
        [&](int a, int p) { return core.arrays_.part(a, p).data(); });
  }
};

}  // namespace gradual::detail

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/train/eager_state.ipp>
#endif
