#pragma once
#include <gradual/train/session_arena.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include <gradual/autodiff/initialize.hpp>
#include <gradual/train/copy_rows.hpp>

namespace gradual::detail {

template <class Where, class R, class S>
SessionArena<Where, R, S>::SessionArena(const SessionTables& tables, const Programs& programs,
                                        const SessionOptions& options, bool counts_calls,
                                        const InitialState& initial_state)
    : tables_(&tables), programs_(programs), frozen_(options.freeze, tables.parameters),
      needed_(tables.training, frozen_.parameters()),
      ranges_(tables.updates_by_element ? UpdateOfRanges(tables.update(), frozen_) : UpdateOfRanges()),
      plan_(tables, options, counts_calls, frozen_.elements()),
      places_(std::make_unique<void*[]>(place_count(tables))),
      offsets_(offset_count(tables)),
      persistent_(plan_.table().persistent()), queue_(options.threads), random_{.on = true, .seed = options.seed} {
  place_persistent();
  require_transient();
  keeps_copy_ = plan_.layout().keeps_copy();
  hold_rows_from(0);
  begin(initial_state, options.seed);
}

template <class Where, class R, class S>
void SessionArena<Where, R, S>::set_budget(Budget budget) {
  require_persistent();
  const std::int64_t micro_batch = plan_.pick(budget);
  plan_.let_shrink();
  if (micro_batch == plan_.micro_batch()) return;
  plan_again(micro_batch);
  require_transient();
}

template <class Where, class R, class S>
void SessionArena<Where, R, S>::hold_rows_from(std::int64_t position) {
  const bool holds =
      !keeps_copy_ && (plan_.layout().choice().threads == 1 || 2 * micro_batch() < tables_->block_samples);
  held_from_ = holds ? position : std::numeric_limits<std::int64_t>::max();
}

template <class Where, class R, class S>
[[gnu::cold]] void SessionArena<Where, R, S>::read_open(const SampleSum& sum, std::int64_t position, void* to) const {
  if (!holds_rows(sum, position)) return queue_.read(to, open()[sum.node], sum.unit * std::int64_t{sizeof(Real)});
  std::vector<std::byte> workspace(static_cast<std::size_t>(tables_->training_workspace(1, 1)));
  sum_held(sum, position, workspace.data(), to);
}

template <class Where, class R, class S>
void SessionArena<Where, R, S>::bind(std::int64_t first_sample, std::int64_t count, const void* const* data,
                                     [[maybe_unused]] DeferredCheck& check) {
  const auto samples = [&](std::size_t i) {
    return static_cast<const std::byte*>(data[i]) + first_sample * tables_->inputs[i].bytes;
  };
  if constexpr (Backend::shares_host_memory) {
    for (std::size_t i = 0; i < tables_->inputs.size(); ++i) bind_input(i, samples(i));
  } else {
    queue_.stage(transient_.data());
    try {
      for_staged([&](std::size_t i, std::int64_t at) { queue_.put(at, samples(i), count * tables_->inputs[i].bytes); });
      check();
      bind_staged(queue_.send());
    } catch (...) {
      queue_.forget_staged();  // the caller's memory is no longer read
      throw;
    }
  }
}

template <class Where, class R, class S>
const std::int32_t* SessionArena<Where, R, S>::gather(std::span<const std::int32_t> rows, const void* const* data) {
  std::byte* const host = queue_.stage(transient_.data());
  const auto copy = [&](std::size_t i, std::int64_t at) { copy_rows(host + at, data[i], rows, tables_->inputs[i].bytes); };
  if constexpr (Backend::shares_host_memory) {
    for_staged(copy);
    bind_staged(host);
    return rows.data();
  } else {
    bool gathers = false;
    const std::int64_t end = for_staged([&](std::size_t i, std::int64_t at) {
      if (queue_.holds(data[i])) return queue_.leave_to_device(), void(gathers = true);
      copy(i, at);
      queue_.staged(at, at + std::ssize(rows) * tables_->inputs[i].bytes);
    });
    std::byte* const place = send_staged(queue_, host, end, rows);
    const auto* const rows_there = reinterpret_cast<const std::int32_t*>(place + end);
    if (gathers)
      for_staged([&](std::size_t i, std::int64_t at) {
        if (queue_.holds(data[i]))
          queue_.gather(place + at, data[i], rows_there, std::ssize(rows), tables_->inputs[i].bytes);
      });
    return rows_there;
  }
}

template <class Where, class R, class S>
const std::int32_t* SessionArena<Where, R, S>::make(std::span<const std::int32_t> rows, SampleMaker& maker) {
  std::byte* const host = queue_.stage(transient_.data());
  const std::int64_t end = for_staged([&](std::size_t i, std::int64_t at) { maker.places()[i] = host + at; });
  if constexpr (Backend::shares_host_memory) {
    maker.make(rows);
    bind_staged(host);
    return rows.data();
  } else {
    try {
      maker.make(rows);
    } catch (...) {
      queue_.forget_staged();
      throw;
    }
    for_staged([&](std::size_t i, std::int64_t at) {
      queue_.staged(at, at + std::ssize(rows) * tables_->inputs[i].bytes);
    });
    return reinterpret_cast<const std::int32_t*>(send_staged(queue_, host, end, rows) + end);
  }
}

template <class Where, class R, class S>
template <class DeviceQueue>
std::byte* SessionArena<Where, R, S>::send_staged(DeviceQueue& queue, std::byte* host, std::int64_t end,
                                                  std::span<const std::int32_t> rows) {
  std::memcpy(host + end, rows.data(), rows.size_bytes());
  queue.staged(end, end + static_cast<std::int64_t>(rows.size_bytes()));
  std::byte* const place = queue.send();
  bind_staged(place);
  return place;
}

template <class Where, class R, class S>
void SessionArena<Where, R, S>::bind_staged(const std::byte* place) {
  for_staged([&](std::size_t i, std::int64_t at) { bind_input(i, place + at); });
}

template <class Where, class R, class S>
void SessionArena<Where, R, S>::close_blocks(std::int64_t position) {
  for (const SampleSum& sum : tables_->sums) {
    if (!is_open(sum, position)) continue;
    if (holds_rows(sum, position)) sum_held(sum, position, workspace(), nullptr);
    else queue_.add(total(sum), open_block(sum), sum.unit);
  }
}

template <class Where, class R, class S>
[[gnu::cold]] void SessionArena<Where, R, S>::keep_sums(std::int64_t position) {
  each_sum(position, [&](const auto* values, std::byte* kept, std::int64_t count) {
    queue_.copy(kept, values, count * std::int64_t{sizeof(*values)});
  });
}

template <class Where, class R, class S>
[[gnu::cold]] void SessionArena<Where, R, S>::restore_sums(std::int64_t position) {
  each_sum(position, [&](auto* values, const std::byte* kept, std::int64_t count) {
    queue_.copy(values, kept, count * std::int64_t{sizeof(*values)});
  });
}

template <class Where, class R, class S>
[[gnu::cold]] bool SessionArena<Where, R, S>::sums_are_finite(std::int64_t position, bool closed) {
  bool finite = true;
  each_sum(closed ? 0 : position, [&](const auto* values, const std::byte*, std::int64_t count) {
    finite = finite && queue_.all_finite(values, count);
  });
  return finite;
}

template <class Where, class R, class S>
[[gnu::cold]] GradientSquares SessionArena<Where, R, S>::square_gradients(bool first) {
  const auto now = queue_.view(static_cast<const Sum*>(gradients()), parameter_elements());
  const auto before = queue_.view(static_cast<const Sum*>(gradients_before_), first ? 0 : parameter_elements());
  const GradientSquares result =
      squares_of(tables_->parameters, frozen_, std::span<const Sum>(now), std::span<const Sum>(before));
  queue_.copy(gradients_before_, gradients(), parameter_elements() * std::int64_t{sizeof(Sum)});
  return result;
}

template <class Where, class R, class S>
[[gnu::cold]] GradientSquares SessionArena<Where, R, S>::square_so_far(std::int64_t position, double weight, bool first) {
  const bool open = position % tables_->block_samples != 0, kept = open || is_compensated<S>;
  if (kept) keep_sums(position);
  if (open) close_blocks(position);
  finish_gradients(weight);
  const GradientSquares result = square_gradients(first);
  if (kept) restore_sums(position);
  return result;
}

template <class Where, class R, class S>
void SessionArena<Where, R, S>::set_loss_scale(double scale) {
  const auto value = static_cast<Real>(scale);
  if (tables_->scales_loss) queue_.tell(scalars_ + tables_->max_scalars, &value, sizeof(value));
}

template <class Where, class R, class S>
void SessionArena<Where, R, S>::finish_gradients(double weight) {
  const auto divisor = static_cast<Sum>(weight);
  queue_.tell(scalars_ + window_weight, &divisor, sizeof(divisor));
  if constexpr (is_compensated<S>)
    for (const SampleSum& sum : tables_->sums) queue_.complete(total(sum), sum.unit);
  queue_.run(training(), Phase::boundary, arguments(0, 0, true, true));
  for (int p = 0; p < static_cast<int>(tables_->copied.size()); ++p)
    if (tables_->copied[static_cast<std::size_t>(p)] && !frozen_.contains(p))
      queue_.copy(part(1, p), value(tables_->training.storage[tables_->training.root(Role::gradient, p)]),
                  tables_->part_elements(1, p) * std::int64_t{sizeof(Sum)});
}

template <class Where, class R, class S>
void SessionArena<Where, R, S>::update(std::span<const Sum> scalars) {
  queue_.tell(scalars_, scalars.data(), static_cast<std::int64_t>(scalars.size_bytes()));
  StepArguments a;
  a.address = update_address();
  a.workspace = workspace();
  a.random = random_;
  if (tables_->updates_by_element) a.batch = parameter_elements();
  const auto run = [&](const StepArguments& how) {
    if (tables_->updates_by_element) run_by_element(queue_, *programs_.update, how);
    else queue_.run(*programs_.update, Phase::boundary, how);
  };
  if (frozen_.elements() == 0) return run(a);  // without a look at the plan, which takes as long as a small net's update
  if (Backend::shares_host_memory && ranges_.possible()) {
    ranges_.run(a, frozen_, run);
    return frozen_.follow(queue_, tables_->arrays(), tables_->following, bytes_of_part());
  }
  std::byte* const aside = transient_.data() + table().inputs + tables_->update_bytes(parameter_elements());
  frozen_.leave_out(queue_, tables_->arrays(), tables_->following, bytes_of_part(), aside, [&] { run(a); });
}

template <class Where, class R, class S>
[[gnu::cold]] void SessionArena<Where, R, S>::put_back_frozen() {
  frozen_.copy(queue_, 0, tables_->arrays() - 1, bytes_of_part());
}

template <class Where, class R, class S>
[[gnu::cold]] void SessionArena<Where, R, S>::sum_held(const SampleSum& sum, std::int64_t position, std::byte* workspace,
                                                       void* open) const {
  StepArguments a = arguments(0, position, false, false);
  a.workspace = workspace;
  queue_.sum_held(training(), sum.node, a, open);
}

template <class Where, class R, class S>
template <class F>
[[gnu::cold]] void SessionArena<Where, R, S>::each_sum(std::int64_t position, F f) const {
  for (const SampleSum& sum : tables_->sums) {
    if (!needs(sum)) continue;
    auto* const copy = static_cast<std::byte*>(kept()[sum.node]);
    f(total(sum), copy, sum.unit);
    if (is_open(sum, position)) f(open_block(sum), copy + tables_->node_bytes(sum), sum.unit);
  }
}

template <class Where, class R, class S>
[[gnu::cold]] void SessionArena<Where, R, S>::take_transient() {
  [[maybe_unused]] const auto here = queue_.on_device();
  for (placed_ = false; !placed_;) try {
      if (transient_.size() != table().transient()) transient_ = typename Backend::Memory(table().transient());
      place_transient();
      placed_ = true;
    } catch (const MemoryError&) {
      const std::int64_t smaller = plan_.smaller();
      if (smaller == 0) throw;
      plan_again(smaller);
    }
}

template <class Where, class R, class S>
void SessionArena<Where, R, S>::plan_again(std::int64_t micro_batch) {
  queue_.wait();
  plan_.set_micro_batch(micro_batch);
  transient_ = {};
  placed_ = false;
}

template <class Where, class R, class S>
[[gnu::cold]] void SessionArena<Where, R, S>::place_persistent() {
  const SessionLayout& layout = plan_.layout();
  const ProgramTables& training = tables_->training;
  gradients_ = reinterpret_cast<Sum*>(array(1));
  std::byte* next = persistent_.data() + tables_->array_offset(tables_->arrays());
  const auto take = [&](std::int64_t bytes) { return std::exchange(next, next + bytes); };
  for (int i = 0; i < nodes(); ++i) {
    const Node& node = training.node(i);
    if (const int p = tables_->gradient_of[static_cast<std::size_t>(i)]; p >= 0) address()[i] = part(1, p);
    if (is_input(node, Input::parameter)) address()[i] = part(0, static_cast<int>(node.attributes.integer[0]));
    if (training.is_derived(i)) address()[i] = take(training.node_bytes(i));
  }
  for (const SampleSum& sum : tables_->sums) {
    if (sum.parameter < 0) address()[sum.node] = take(tables_->node_bytes(sum));
    if (layout.keeps_copy()) kept()[sum.node] = take(layout.summed_bytes(sum));
    if (layout.needs_open(sum)) open()[sum.node] = take(tables_->open_bytes(sum));
  }
  gradients_before_ = reinterpret_cast<Sum*>(take(table().noise));
  scalars_ = reinterpret_cast<Sum*>(next);
  for (int i = 0; i < nodes(); ++i)
    if (const Node& node = training.node(i); is_input(node, Input::scalar))
      address()[i] = node.attributes.integer[0] == loss_scale_slot ? scalars_ + tables_->max_scalars : scalars_ + window_weight;
  place_arrays_of_update(tables_->update(), scalars_, [&](std::int64_t index) { return part_of_array(index); },
                         update_address());
}

template <class Where, class R, class S>
[[gnu::cold]] void SessionArena<Where, R, S>::place_transient() {
  std::byte* const base = transient_.data() + table().inputs;
  tables_->training.place_transient(micro_batch(), base, offsets_.data(), address());
  place_values_of_update(tables_->update(), parameter_elements(), base, offsets_.data(), update_address());
  queue_.plan(micro_batch(), plan_.layout().place_bytes(), plan_.layout().loss_bytes());
}

template <class Where, class R, class S>
[[gnu::cold]] void SessionArena<Where, R, S>::begin(const InitialState& initial_state, std::uint64_t seed) {
  const int count = static_cast<int>(tables_->parameters.size());
  std::vector<Real> values;
  const auto part_of = [&](int array, int p) {
    return std::span(values).subspan(static_cast<std::size_t>(tables_->part_begin(array, p)),
                                     static_cast<std::size_t>(tables_->part_elements(array, p)));
  };
  for (int a = 0; a < tables_->arrays(); ++a) {
    if (a == 1) continue;
    values.resize(static_cast<std::size_t>(tables_->elements(a)));
    for (int p = 0; p < count; ++p) {
      const ParameterInfo& parameter = tables_->parameters[static_cast<std::size_t>(p)];
      if (a == 0) initialize(part_of(a, p), parameter.initializer, seed, p);
      else std::ranges::fill(part_of(a, p), initial_state(a - 2, parameter.name.view()));
    }
    queue_.write(array(a), values.data(), tables_->elements(a) * std::int64_t{sizeof(Real)});
  }
  queue_.wait();
}

}  // namespace gradual::detail
