#pragma once
#include <gradual/train/update_parts.hpp>

namespace gradual {

GRADUAL_ONCE UpdateParts::UpdateParts(const Tape& update) : arrays_(static_cast<std::size_t>(detail::array_count(update))) {
  for (const InputInfo& input : update.inputs) elements_.push_back(input.shape.unit());
  begin_.resize(elements_.size());
  for (std::size_t i = 2 * arrays_; i < begin_.size(); ++i) begin_[i] = begin_[i - arrays_] + elements_[i - arrays_];
}

}  // namespace gradual
