#pragma once
#include <gradual/eager/window_sums.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

#include <gradual/core/cpu/share.hpp>
#include <gradual/eager/same_sums.hpp>

namespace gradual::eager {

GRADUAL_ONCE WindowSums::WindowSums(const AnyParameters& parameters, cpu::ThreadPool* pool)
    : parameters_(&parameters), pool_(pool) {}

GRADUAL_ONCE WindowSums::WindowSums(WindowSums&&) noexcept = default;
GRADUAL_ONCE WindowSums& WindowSums::operator=(WindowSums&&) noexcept = default;
GRADUAL_ONCE WindowSums::~WindowSums() = default;

GRADUAL_ONCE void WindowSums::reserve(std::int64_t begin, bool last, bool undoable) {
  Recording& part = *recordings_[used_];
  Executor& values = part.tape.values();
  target_ = nullptr;
  for (std::size_t r = 0; r < used_ && target_ == nullptr; ++r)
    if (same_sums(recordings_[r]->tape, part.tape)) target_ = &recordings_[r]->shadows;
  is_first_ = target_ == nullptr;
  if (is_first_) {
    part.shadows.clear();  // left by a part that could not be added
    resumed_ = find_begun(part.tape);
    target_ = resumed_ < begun_.size() ? &begun_[resumed_].shadows : &part.shadows;
  }
  target_->resize(static_cast<std::size_t>(count_sums(part.tape)));
  before_.clear();
  if (undoable) before_ = copy_of(*target_, part.tape);
  each_sum(part.tape, [&](int id, std::size_t sum) { values.reserve(part.tape, id, (*target_)[sum], begin, last); });
}

GRADUAL_ONCE bool WindowSums::add(std::int64_t begin, bool last) {
  Recording& part = *recordings_[used_];
  try {
    each_sum(part.tape, [&](int id, std::size_t sum) {
      part.tape.values().add_to_sum(part.tape, id, (*target_)[sum], begin, last);
    });
    if (!before_.empty() && !are_finite(part)) {
      undo();
      return false;
    }
  } catch (...) {
    undo();
    throw;
  }
  before_.clear();
  if (!is_first_) {
    part.tape.forget();
    return true;
  }
  part.place = resumed_ < begun_.size() ? begun_[resumed_].place : places_++;
  if (resumed_ < begun_.size()) {
    part.shadows = std::move(begun_[resumed_].shadows);
    begun_.erase(begun_.begin() + static_cast<std::ptrdiff_t>(resumed_));
  }
  ++used_;
  part.tape.values().release_batched(part.tape);
  return true;
}

GRADUAL_ONCE void WindowSums::forget_part() {
  if (used_ == recordings_.size()) return;
  recordings_[used_]->tape.forget();
  recordings_[used_]->shadows.clear();
  before_.clear();
}

GRADUAL_ONCE std::vector<BegunSums> WindowSums::begun() const {
  std::vector<BegunSums> all = begun_;
  for (std::size_t r = 0; r < used_; ++r) {
    EagerTape& tape = recordings_[r]->tape;
    BegunSums& one = all.emplace_back();
    one = {fingerprint_of_sums(tape), recordings_[r]->shadows, {}, recordings_[r]->place};
    each_sum(tape, [&](int id, std::size_t) { one.words.push_back(words_of(tape[id])); });
  }
  std::ranges::sort(all, {}, &BegunSums::place);
  return all;
}

GRADUAL_ONCE void WindowSums::resume(std::vector<BegunSums> begun) {
  clear();
  begun_ = std::move(begun);
  for (BegunSums& one : begun_) one.place = places_++;
}

GRADUAL_ONCE void WindowSums::check_recorded() const {
  if (!begun_.empty())
    throw TapeError("a restored window cannot end yet: " + std::to_string(begun_.size()) +
                    " of its backward computations have had no part added since");
}

GRADUAL_ONCE void WindowSums::derive_again() {
  for (std::size_t r = 0; r < used_; ++r) recordings_[r]->tape.values().derive_again(recordings_[r]->tape);
}

GRADUAL_ONCE void WindowSums::clear() {
  for (std::size_t r = 0; r < used_; ++r) {
    recordings_[r]->tape.forget();
    recordings_[r]->shadows.clear();
  }
  used_ = 0;
  begun_.clear();
  places_ = 0;
}

GRADUAL_ONCE bool WindowSums::has_term(EagerTape& tape) {
  return std::ranges::any_of(tape.values().unbatched(), [&](int id) { return is_weight(tape, id); });
}

GRADUAL_ONCE std::int64_t WindowSums::count_sums(EagerTape& tape) {
  return std::ranges::count_if(tape.values().unbatched(), [&](int id) { return is_sample_sum(tape[id].op->kind); });
}

GRADUAL_ONCE std::vector<Shadow> WindowSums::copy_of(const std::vector<Shadow>& sums, EagerTape& tape) const {
  std::vector<Shadow> copies;
  each_sum(tape, [&](int id, std::size_t sum) {
    copies.push_back(sums[sum].copy(parameters_->device(), bytes_of(tape[id].shape, 1, tape[id].dtype)));
  });
  return copies;
}

GRADUAL_ONCE void WindowSums::undo() {
  if (!before_.empty()) target_->swap(before_);
  before_.clear();
}

GRADUAL_ONCE bool WindowSums::are_finite(Recording& part) {
  bool finite = true;
  each_sum(part.tape, [&](int id, std::size_t sum) {
    finite = finite && part.tape.values().sum_is_finite(part.tape, id, (*target_)[sum]);
  });
  return finite;
}

GRADUAL_ONCE std::size_t WindowSums::find_begun(EagerTape& tape) const {
  if (begun_.empty()) return 0;
  const std::uint64_t computation = fingerprint_of_sums(tape);
  std::size_t found = 0;
  for (; found < begun_.size(); ++found) {
    const BegunSums& sums = begun_[found];
    bool fits = sums.computation == computation && static_cast<std::int64_t>(sums.shadows.size()) == count_sums(tape);
    each_sum(tape, [&](int id, std::size_t sum) {
      fits = fits && (sums.words[sum] < 0 || sums.words[sum] == words_of(tape[id]));
    });
    if (fits) break;
  }
  return found;
}

template <class Real>
void WindowSums::finish(Recording& recording, std::span<Real> gradient, Real weight, bool add) {
  EagerTape& tape = recording.tape;
  Executor& values = tape.values();
  each_sum(tape, [&](int id, std::size_t sum) {
    values.close_sum(tape, id, recording.shadows[sum]);
    values.set_sum(id, recording.shadows[sum].total());
  });
  std::memcpy(recording.weight, &weight, sizeof(weight));
  values.bindings().bind_weight(recording.weight);
  values.run_deferred(tape);
  for (const Root& root : tape.roots) {
    if (root.role != Role::gradient) continue;
    const auto p = static_cast<std::size_t>(root.index);
    const auto* from = static_cast<const Real*>(values.dense(tape, root.node));
    Real* to = gradient.data() + parameters_->offsets()[p];
    const std::int64_t count = parameters_->offsets()[p + 1] - parameters_->offsets()[p];
    if (Accelerator* const device = parameters_->device().accelerator(); device != nullptr) {
      if (add) device->add(to, from, count);
      else device->copy(to, from, count * std::int64_t{sizeof(Real)});
      continue;
    }
    cpu::share(pool_, count, [&](cpu::Part::Range part) {
      if (!add) std::copy(from + part.begin, from + part.end, to + part.begin);
      for (std::int64_t i = part.begin; i < part.end && add; ++i) to[i] += from[i];
    });
  }
}

template <class Real>
void WindowSums::finish(std::span<Real> gradient, double weight) {
  check_recorded();
  std::sort(recordings_.begin(), recordings_.begin() + static_cast<std::ptrdiff_t>(used_),
            [](const auto& a, const auto& b) { return a->place < b->place; });
  double of_term = weight;  // enters once, with the first backward that has the term
  for (std::size_t r = 0; r < used_; ++r) {
    finish(*recordings_[r], gradient, static_cast<Real>(of_term), r > 0);
    if (has_term(recordings_[r]->tape)) of_term = 0;
  }
}

template <class Real>
void WindowSums::finish_copy(std::span<Real> gradient, double weight) {
  struct Copies {
    std::vector<std::pair<Recording*, std::vector<Shadow>>> before;  // by recording, since `finish` reorders these
    explicit Copies(const WindowSums& sums) {
      for (std::size_t r = 0; r < sums.used_; ++r) {
        Recording& recording = *sums.recordings_[r];
        before.emplace_back(&recording, sums.copy_of(recording.shadows, recording.tape));
      }
    }
    ~Copies() {
      for (auto& [recording, shadows] : before) {
        recording->shadows = std::move(shadows);
        recording->tape.values().defer_again(recording->tape);
      }
    }
  } const copies(*this);
  finish(gradient, weight);
}

}  // namespace gradual::eager
