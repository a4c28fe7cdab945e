#pragma once
#include <gradual/train/opaque_step.hpp>

namespace gradual::detail {

/// The opaque optimizer of a compiled session, which is given the arena's arrays, or copies of these where the backend has
/// memory of its own.
template <class Net, class Optimizer>
class OpaqueOnArena : public OpaqueStep<Optimizer> {
  using Base = OpaqueStep<Optimizer>;

 public:
  using Base::Base;

  template <class Arena>
  [[gnu::cold]] void begin(const Arena& arena)
    requires(Base::exists)
  {
    float *values = arena.parameters(), *gradients = arena.state(0);
    if constexpr (!Net::Backend::shares_host_memory) {
      copies_.resize(static_cast<std::size_t>(2 * Net::parameter_elements));
      values = copies_.data(), gradients = values + Net::parameter_elements;
    }
    for (int p = 0; p < Net::parameter_count; ++p)
      if (!arena.frozen(p))
        Base::add(Net::parameter(p).name.view(), Net::parameter(p).shape, values + Net::parameter_offset(p),
                  gradients + Net::parameter_offset(p));
  }

  template <class Arena>
  void step(Arena& arena)
    requires(Base::exists)
  {
    if constexpr (Net::Backend::shares_host_memory) {
      Base::step();
    } else {
      constexpr std::int64_t bytes = Net::parameter_elements * 4;
      arena.queue().read(copies_.data(), arena.parameters(), bytes);
      arena.queue().read(copies_.data() + Net::parameter_elements, arena.state(0), bytes);
      Base::step();
      arena.queue().write(arena.parameters(), copies_.data(), bytes);
    }
  }

 private:
  std::vector<float> copies_;
};

}  // namespace gradual::detail
