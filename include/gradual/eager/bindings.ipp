#pragma once
#include <gradual/eager/bindings.hpp>

#include <utility>

#include <gradual/autodiff/ops.hpp>

namespace gradual::eager {

GRADUAL_ONCE void Bindings::reset() {
  samples_.clear();
  scalars_ = nullptr;
  weight_ = nullptr;
}

GRADUAL_ONCE void Bindings::bind_input(const void* data, Storage owner) {
  const bool on_device = !owner.empty();
  // Without samples any address will do.
  samples_.push_back({data == nullptr ? this : data, on_device, std::move(owner)});
}

GRADUAL_ONCE void Bindings::rebind_input(std::size_t which, const void* data) {
  samples_[which].data = data, samples_[which].on_device = true;
}

GRADUAL_ONCE void Bindings::bind_parameters(const void* values, DType dtype, const std::vector<std::int64_t>& offsets) {
  parameters_ = static_cast<const std::byte*>(values);
  parameter_bytes_ = size_of(dtype);
  offsets_ = &offsets;
}

GRADUAL_ONCE void Bindings::bind_scalars(const void* scalars, DType dtype) {
  scalars_ = static_cast<const std::byte*>(scalars);
  scalar_bytes_ = size_of(dtype);
}

GRADUAL_ONCE Bindings::Given Bindings::of(const Tape& tape, int id) const {
  const Node& node = tape[id];
  const auto which = static_cast<std::size_t>(node.attributes.integer[0]);
  if (is_input(node, Input::sample)) {
    if (which >= samples_.size()) throw TapeError("an input of an eager tape needs values: use EagerTape::input");
    return samples_[which];
  }
  if (is_input(node, Input::parameter)) {
    if (parameters_ == nullptr) throw TapeError("a parameter was read on a tape made without parameters");
    return {parameters_ + (*offsets_)[which] * parameter_bytes_, true};
  }
  if (scalars_ != nullptr) return {scalars_ + node.attributes.integer[0] * scalar_bytes_};
  return {id >= tape.first_adjoint ? weight_ : nullptr};
}

}  // namespace gradual::eager
