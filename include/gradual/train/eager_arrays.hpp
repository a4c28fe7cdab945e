#pragma once
#include <algorithm>
#include <span>

#include <gradual/eager/host_copy.hpp>
#include <gradual/eager/parameters.hpp>
#include <gradual/optim/following_states.hpp>
#include <gradual/optim/parameter_names.hpp>
#include <gradual/train/eager_update.hpp>
#include <gradual/train/frozen.hpp>
#include <gradual/train/session_options.hpp>

namespace gradual::detail {

/// The arrays that an eager session's steps read and change, on its parameters' device: the parameters, the summed gradients of
/// a window, and the optimizer's states, numbered in this order; each holds one parameter after another.
template <class Rule, class Real>
class EagerArrays {
  static constexpr std::int64_t real_bytes = sizeof(Real);

 public:
  static constexpr int states = state_size<StateOf<Rule>>();

  /// `parameters`: with values; must outlive this. Errors: OptionError for a name that no parameter has, or numbers that are
  /// invalid for the rule; MemoryError.
  EagerArrays(ParametersIn<Real>& parameters, const Rule& rule, const SessionOptions& options)
      : parameters_(&parameters),
        queue_(options.threads),
        frozen_(options.freeze, parameters.declared()),
        update_(parameters.device(), rule, parameters.declared()),
        gradient_(device().allocate(elements() * real_bytes, Category::gradients)) {
    device().clear(gradient_.data(), elements() * real_bytes);
    for (int i = 0; i < states; ++i) {
      const std::int64_t bytes = update_.parts().elements(2 + i) * real_bytes;
      state_[i] = device().allocate(bytes, Category::optimizer_state);
      device().clear(state_[i].data(), bytes);
    }
    passes_over_ = update_.passes_over(frozen_);
    if (!passes_over_) aside_ = device().allocate(frozen_.bytes(states + 2, bytes_of_part()), Category::workspace);
    begin_states(rule);
  }

  ParametersIn<Real>& parameters() const { return *parameters_; }
  const Device& device() const { return parameters_->device(); }
  /// Returns its threads; null for one thread.
  cpu::ThreadPool* pool() const { return queue_.pool(); }
  const Frozen& frozen() const { return frozen_; }
  std::int64_t elements() const { return parameters_->offsets().back(); }

  /// Errors: OptionError where they, or the parameters, were moved from.
  void require() const {
    if (gradient_.empty()) [[unlikely]] refuse_moved();
    parameters_->require();
  }
  Real* array(int a) const {
    require();
    return a == 0 ? parameters_->data() : a == 1 ? gradient_.template as<Real>() : state_[a - 2].template as<Real>();
  }
  /// Returns parameter p's part of an array.
  std::span<Real> part(int a, int p) const {
    return {array(a) + update_.parts().part_begin(a, p), static_cast<std::size_t>(update_.parts().part_elements(a, p))};
  }
  std::span<Real> gradients() const { return {array(1), static_cast<std::size_t>(elements())}; }
  /// Returns an array for the host to read: of an array on a GPU a copy, valid until the next call for that array.
  std::span<const Real> on_host(int a) const {
    require();
    return copies_[a].of(device(), array(a), a < 2 ? elements() : update_.parts().elements(a));
  }

  /// Whether the gradient of all that is not frozen is finite.
  bool gradient_is_finite() const {
    return frozen_.all_of_free([&](auto range) {
      const Real* const from = array(1) + range.begin;
      if (!device().shares_host_memory()) return device().all_finite(from, range.end - range.begin);
      return queue_.all_finite(from, range.end - range.begin);
    });
  }
  /// Whether parameter p's gradient, or p itself, is finite; true where p is frozen.
  bool gradient_is_finite(int p) const { return frozen_.contains(p) || part_is_finite(1, p); }
  bool parameter_is_finite(int p) const { return frozen_.contains(p) || part_is_finite(0, p); }

  /// Restores frozen parameters from a rule's last state.
  void put_back_frozen() {
    on_queue([&](const auto& queue) { frozen_.copy(queue, 0, 1 + states, bytes_of_part()); });
  }

  /// Runs the rule, once, as `EagerUpdate`. Errors: MemoryError; nothing but the gradients is changed then.
  void update(const UpdateStep& step, std::uint64_t seed) {
    Real* arrays[states + 2];
    for (int a = 0; a < states + 2; ++a) arrays[a] = array(a);
    on_queue([&](const auto& queue) {
      constexpr std::uint64_t following = following_states<Rule>();
      const auto run = [&] { update_.run(queue_, arrays, step, seed, &frozen_); };
      if (!passes_over_) return frozen_.leave_out(queue, states + 2, following, bytes_of_part(), aside_.data(), run);
      run();
      frozen_.follow(queue, states + 2, following, bytes_of_part());
    });
  }

 private:
  void begin_states(const Rule& rule) {
    check_names(rule, parameters_->declared());
    for (int i = 0; i < states; ++i)
      for (int p = 0; p < parameters_->size(); ++p) {
        const std::span<Real> values = part(2 + i, p);
        const Real first = initial_state(rule, i, parameters_->declared()[static_cast<std::size_t>(p)].name.view());
        device().write(values.data(), std::ssize(values), [&](std::span<Real> all) { std::ranges::fill(all, first); });
      }
  }
  bool part_is_finite(int a, int p) const { return device().all_finite(part(a, p).data(), std::ssize(part(a, p))); }
  auto bytes_of_part() const {
    return [this](int a, int p) { return std::as_writable_bytes(part(a, p)); };
  }
  /// Calls f with the queue or device that copies and clears the arrays.
  template <class F>
  void on_queue(F f) const {
    if (device().shares_host_memory())
      f(queue_);
    else
      f(device());
  }

  ParametersIn<Real>* parameters_;
  Cpu::Queue queue_;
  Frozen frozen_;
  EagerUpdate<Rule, Real> update_;
  bool passes_over_ = false;  // the update does not change what is frozen
  eager::Storage gradient_, aside_, state_[states > 0 ? states : 1];
  eager::HostCopy<Real> copies_[2 + states];
};

}  // namespace gradual::detail
