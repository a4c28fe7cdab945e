#pragma once
// An update rule alone, as sessions run it, over consecutive arrays: parameters, gradient, states.
#include <algorithm>
#include <iterator>
#include <span>
#include <vector>

#include <gradual/gradual.hpp>

namespace nets {

using namespace gradual;

template <class Rule>
class LoneUpdate {
 public:
  /// Prepares step 1 for a window of weight 1, with gradients that are not 0.
  explicit LoneUpdate(std::int64_t count)
      : memory_(arrays * aligned(count * 4)),
        update_(*ElementwiseUpdate<>::of<Rule>(Device::cpu(), trace_update(Rule{}, count), count)),
        count_(count) {
    gradual::detail::UpdateNumbers<float> numbers(Rule{}, update_.scalars());
    std::ranges::copy(numbers.in_step({}), std::back_inserter(numbers_));
    for (int a = 0; a < arrays; ++a) place_[a] = reinterpret_cast<float*>(memory_.data() + a * aligned(count * 4));
    for (std::size_t i = 0; i < gradient().size(); ++i) gradient()[i] = 0.5f + static_cast<float>(i % 7);
  }

  std::span<float> gradient() const { return {place_[1], static_cast<std::size_t>(count_)}; }
  std::span<const float> numbers() const { return numbers_; }
  void run(const Cpu::Queue& queue) { update_.run(queue, numbers_.data(), place_); }

 private:
  static constexpr int arrays = 2 + gradual::detail::state_size<StateOf<Rule>>();

  HeapBlock memory_;
  ElementwiseUpdate<> update_;
  std::vector<float> numbers_;
  std::int64_t count_;
  float* place_[arrays]{};
};

}  // namespace nets
