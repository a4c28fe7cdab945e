#pragma once
#include <gradual/train/session_core.hpp>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include <gradual/train/inference_runner.hpp>
#include <gradual/train/micro_batch.hpp>
#include <gradual/train/validate.hpp>

namespace gradual::detail {

template <class Arena, class Opaque>
template <class Optimizer>
SessionCore<Arena, Opaque>::SessionCore(const SessionTables& tables, const typename Arena::Programs& programs,
                                        const Optimizer& optimizer, const SessionOptions& options)
try : SessionCore(tables, programs,
                  [](const SessionTables& of, const void* made) { return Step(of, *static_cast<const Optimizer*>(made)); },
                  &optimizer, calls_of(optimizer),
                  [&](int state, std::string_view name) { return initial_state(rule_of(optimizer), state, name); }, options) {
} catch (const std::bad_alloc&) {
  throw MemoryError("a session: the system refused memory");
}

template <class Arena, class Opaque>
SessionCore<Arena, Opaque>::SessionCore(const SessionTables& tables, const typename Arena::Programs& programs,
                                        MakeStep* make_step, const void* optimizer, std::int64_t calls,
                                        const InitialState& initial_state, const SessionOptions& options)
    : options_(with_free_memory(checked(options, calls))), step_(make_step(tables, optimizer)),
      window_(tables, programs, options_, calls, step_.evaluates_twice(), initial_state) {
  options_.micro_batch = arena().micro_batch();
  step_.begin(arena());
}

template <class Arena, class Opaque>
SessionCore<Arena, Opaque>::~SessionCore() = default;

// Hot, since g++ optimizes functions that only main calls for size rather than speed.
template <class Arena, class Opaque>
[[gnu::hot]] int SessionCore<Arena, Opaque>::accumulate(std::int64_t count, const void* const* data, DeferredCheck check) {
  if (check.waits() && progress().waits_for_step()) check();  // before the step is made
  check_next(count);
  require_transient();
  int steps = 0;
  if (progress().waits_for_step()) {
    steps = step();
    check_next(count);  // a window that is dropped is followed by another than one that makes its step
  }
  for (std::int64_t done = 0; done < count;) {
    follow_memory();
    const std::int64_t part = progress().next_part(count - done, options_.micro_batch);
    arena().bind(done, part, data, check);
    const bool last = progress().ends().calls() == 0 && progress().is_filled_by(part);
    done += add(part, last, static_cast<std::uint64_t>(progress().steps()));
    if (progress().ends_here(done == count)) steps += step();
  }
  return steps;
}

template <class Arena, class Opaque>
std::span<const std::int32_t> SessionCore<Arena, Opaque>::rows_of_window(std::span<const std::int32_t> rows) const {
  if (!options_.gather || progress().ends().calls() != 0)
    throw OptionError("accumulate_rows: needs a session with .gather, and windows that are counted in samples");
  const bool waits = progress().waits_for_step();
  if (rows.empty() && !waits) throw DataError("a batch of 0 samples");
  return rows.first(waits ? 0 : std::min(rows.size(), static_cast<std::size_t>(progress().room())));
}

template <class Arena, class Opaque>
void SessionCore<Arena, Opaque>::add_rows(std::span<const std::int32_t> rows, std::uint64_t epoch, bool last,
                                          std::int64_t& taken, Samples data) {
  require_transient();
  if (progress().waits_for_step()) {
    step();  // after which these rows may not be the next: a window may have to be given again
    return;
  }
  follow_memory();
  const auto count = static_cast<std::int64_t>(rows.size());
  check_blocks(std::min(count, progress().room()), last);
  std::int64_t done = 0;
  for (bool ended = false; done < count && !ended;) {
    const std::int64_t part = progress().next_part(count - done, options_.micro_batch);
    const auto rows_of_part = rows.subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(part));
    const std::int32_t* const places =
        data.maker != nullptr ? arena().make(rows_of_part, *data.maker) : arena().gather(rows_of_part, data.places);
    const std::int64_t added = add(part, progress().is_filled_by(part) || (last && done + part == count), epoch, places);
    done += added, taken += added;
    ended = progress().full() || (last && done == count);
    if (ended) step();
  }
}

template <class Arena, class Opaque>
int SessionCore<Arena, Opaque>::flush() {
  if (!progress().has_begun() && !progress().again()) return 0;
  require_transient();
  return step();
}

template <class Arena, class Opaque>
void SessionCore<Arena, Opaque>::close_blocks() {
  require_transient();
  unless_lost([&] { window_.close_blocks(); });
}

template <class Arena, class Opaque>
void SessionCore<Arena, Opaque>::apply(std::span<const Sum> gradient_sum, double weight) {
  if (std::ssize(gradient_sum) != arena().parameter_elements() || !(weight > 0))
    refuse_gradients(arena().parameter_elements(), gradient_sum.size(), weight);
  check_weight(weight);
  if (!math::all_finite(gradient_sum)) throw DataError("apply: a gradient that is not finite");
  require_transient();
  step_.apply(window_, weight, [&] {
    discard();
    arena().queue().write(arena().gradients(), gradient_sum.data(), static_cast<std::int64_t>(gradient_sum.size_bytes()));
  });
}

/// Samples that a processor thread computes at once where it may choose: activations of more leave its cache.
inline constexpr std::int64_t in_cache = 256;

template <class Arena, class Opaque>
template <class F>
void SessionCore<Arena, Opaque>::each_part(std::int64_t count, Samples data, F f) {
  require_transient();
  window_.take_losses();
  const std::int64_t most =
      Backend::shares_host_memory ? std::min(options_.micro_batch, in_cache * options_.threads) : options_.micro_batch;
  std::vector<std::int32_t> rows;  // of samples that are made
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t part = std::min(most, count - done);
    if (data.maker != nullptr) {
      rows.resize(static_cast<std::size_t>(part));
      std::iota(rows.begin(), rows.end(), static_cast<std::int32_t>(done));
      arena().make(rows, *data.maker);
    } else {
      DeferredCheck none;
      arena().bind(done, part, data.places, none);
    }
    f(window_.evaluate(part, done));
    done += part;
  }
}

template <class Arena, class Opaque>
Averages SessionCore<Arena, Opaque>::evaluate(std::int64_t count, Samples data) {
  Averages result(arena().tables().metrics);
  LossesAhead<Real> coming;
  each_part(count, data, [&](const FetchedLosses<Real>& part) {
    coming.push(part);
    coming.add_to(result, arena().queue(), Arena::Queue::places - 1);
  });
  coming.add_to(result, arena().queue());
  progress().check_evaluated(result);
  return result;
}

template <class Arena, class Opaque>
void SessionCore<Arena, Opaque>::losses(std::int64_t count, Samples data, std::span<Real> out) {
  each_part(count, data, [&](const FetchedLosses<Real>& part) {
    arena().queue().wait_for(part.place);
    std::copy_n(part.values[0], part.count, out.begin());
    out = out.subspan(static_cast<std::size_t>(part.count));
  });
}

template <class Arena, class Opaque>
void SessionCore<Arena, Opaque>::predict(const InferenceLayout& layout, const typename Backend::Kernels& kernels,
                                         std::int64_t count, const void* const* data, std::span<Real> out) {
  [[maybe_unused]] const auto here = arena().queue().on_device();  // for the queue that is made below
  require_transient();
  window_.take_losses();
  arena().queue().wait();  // training must be done with the block before prediction uses it
  const std::int64_t derived = layout.table(1).derived;
  const int threads = Backend::shares_host_memory ? options_.threads : 1;
  const auto need = [&](std::int64_t batch) { return derived + layout.table(batch, threads).transient(); };
  std::byte* block = arena().transient().data();
  typename Backend::Memory own;
  const std::int64_t most = std::min(count, Backend::shares_host_memory ? in_cache * threads : countable_batch(layout.program));
  std::int64_t batch = largest_fitting(most, arena().transient().size(), need);
  if (batch == 0) batch = 1, own = typename Backend::Memory(need(batch)), block = own.data();
  typename Backend::Queue beside(1);  // the session's has recorded the training program
  InferenceRunner<Backend, Real> runner(layout, kernels, block + derived, batch,
                                        Backend::shares_host_memory ? arena().queue() : beside);
  runner.read(reinterpret_cast<std::byte*>(arena().parameters()), block);
  runner.derive();
  runner.predict(count, data, out);
}

template <class Arena, class Opaque>
void SessionCore<Arena, Opaque>::set_budget(Budget budget) {
  if (options_.non_finite == NonFinite::drop_micro_batch)
    throw OptionError("set_budget: with NonFinite::drop_micro_batch, memory would decide what is dropped");
  [[maybe_unused]] const auto here = arena().queue().on_device();
  window_.take_losses();
  arena().set_budget(budget.follows ? what_is_free() : budget);
  options_.memory_budget = budget;
  options_.micro_batch = arena().micro_batch();
}

template <class Arena, class Opaque>
void SessionCore<Arena, Opaque>::set_parameters(std::span<const Real> values) {
  if (std::ssize(values) != arena().parameter_elements())
    refuse_parameters("set_parameters", arena().parameter_elements(), values.size());
  progress().check_in_place("set_parameters", ": discard it first");
  require_transient();
  arena().queue().write(arena().parameters(), values.data(), static_cast<std::int64_t>(values.size_bytes()));
  arena().queue().wait();  // the caller may now change values that lie on a device
  window_.derive_again();
}

template <class Arena, class Opaque>
Checkpoint SessionCore<Arena, Opaque>::state(const char* optimizer) const {
  window_.take_losses();
  progress().check_can_be_saved();
  return or_memory_error("the state of a session", [&] { return state_of(kind(optimizer), options_, window_, step_); });
}

template <class Arena, class Opaque>
void SessionCore<Arena, Opaque>::restore(const Checkpoint& file, const char* optimizer) {
  require_transient();
  window_.take_losses();
  or_memory_error("restoring a session",
                  [&] { in_file(file, [&] { gradual::detail::restore(file, kind(optimizer), options_, window_, step_); }); });
}

template <class Arena, class Opaque>
void SessionCore<Arena, Opaque>::check_accumulator() const {
  if (const int p = arena().tables().first_known_at_end; p >= 0 && progress().position() > 0)
    throw OptionError("accumulator: the gradient of '" +
                      arena().tables().parameters[static_cast<std::size_t>(p)].name.string() +
                      "' is not one sum over samples: it is known only once the window has ended");
}

template <class Arena, class Opaque>
void SessionCore<Arena, Opaque>::check_state(int index) const {
  const SessionTables& tables = arena().tables();
  const int states = Opaque::exists ? 0 : tables.states;  // an opaque optimizer's is a copy of the gradient
  if (index < 0 || index >= states) refuse_state(index, states);
  for (int p = 0; p < static_cast<int>(tables.parameters.size()); ++p)
    if (!(tables.part_shape(2 + index, p) == tables.part_shape(0, p)))
      throw OptionError("the optimizer's state " + std::to_string(index) + " has another shape than '" +
                        tables.parameters[static_cast<std::size_t>(p)].name.string() + "'");
}

template <class Arena, class Opaque>
double SessionCore<Arena, Opaque>::squares_of_gradient() const {
  const auto sums = arena().sums(false);
  return squares_of(arena().tables().parameters, arena().frozen(), std::span<const Sum>(sums), {}).all;
}

template <class Arena, class Opaque>
void SessionCore<Arena, Opaque>::check_blocks(std::int64_t count, bool last) const {
  if (window_.is_closed() && progress().position() > 0 && !progress().waits_for_step())
    throw OptionError("accumulate: the window's blocks are closed: flush it or discard it");
  if (arena().plan().layout().choice().open_blocks) return;
  progress().check_blocks(count, last, options_, arena().tables().block_samples);
}

template <class Arena, class Opaque>
std::int64_t SessionCore<Arena, Opaque>::add(std::int64_t part, bool last, std::uint64_t round, const std::int32_t* samples) {
  return unless_lost([&] { return window_.add(part, last, round, samples); });
}

template <class Arena, class Opaque>
StateKind SessionCore<Arena, Opaque>::kind(const char* optimizer) const {
  const SessionTables& tables = arena().tables();
  return {tables.parameters, name_in(optimizer), Opaque::exists ? 0 : tables.states, shadow_name<typename Arena::Shadow>,
          tables.scales_loss, options_.reduction, step_.evaluates_twice()};
}

}  // namespace gradual::detail
