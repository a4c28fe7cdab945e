#pragma once
#include <gradual/train/update_parts.hpp>

namespace gradual {

GRADUAL_ONCE UpdateParts::UpdateParts(const Tape& update) : arrays_(array_count(count(update))) {
  for (const InputInfo& input : update.inputs) elements_.push_back(input.shape.unit());
  begin_.resize(elements_.size());
  const auto arrays = static_cast<std::size_t>(arrays_);
  for (std::size_t i = 2 * arrays; i < begin_.size(); ++i) begin_[i] = begin_[i - arrays] + elements_[i - arrays];
}

}  // namespace gradual
