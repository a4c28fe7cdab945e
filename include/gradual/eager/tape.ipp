#pragma once
#include <gradual/eager/tape.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace gradual {

GRADUAL_ONCE EagerTape::EagerTape(std::unique_ptr<eager::Executor> by, std::int64_t batch, const AnyParameters* values)
    : executor_(std::move(by)) {
  executor = executor_.get();
  forget(batch);
  if (values == nullptr) return;
  values->require_values();
  parameters = values->declared();
  declared = &values->declared();
  real = values->dtype();
  executor_->bindings().bind_parameters(values->data(), values->dtype(), values->offsets());
}

GRADUAL_ONCE Var EagerTape::input(const Tensor& tensor) {
  check_device(tensor.device());
  executor_->bindings().bind_input(tensor.storage().data(), tensor.storage());
  return gradual::input(*this, tensor.shape(), tensor.dtype());
}

GRADUAL_ONCE void EagerTape::forget(std::int64_t batch) {
  if (batch < 0) throw DataError("a tape cannot have " + std::to_string(batch) + " samples");
  begin(0, batch, batch, false);
}

GRADUAL_ONCE void EagerTape::begin(std::int64_t first, std::int64_t batch, std::int64_t given, bool deferring) {
  Tape::forget();
  executor_->reset(batch, deferring);
  kept_.clear();
  first_ = first;
  given_ = given;
}

GRADUAL_ONCE std::int64_t EagerTape::take_alone() {
  given_ = batch();
  return std::exchange(first_, 0);
}

GRADUAL_ONCE void EagerTape::check_device(const Device& device) const {
  const Device& here = executor_->device();
  if (device.accelerator() == here.accelerator()) return;
  const bool same_name = device.name() == std::string_view(here.name());
  throw DeviceError("input " + std::to_string(inputs.size()) + ": a tensor on " + device.name() + ", but the tape is on " +
                    (same_name ? "another " : "") + here.name() + "; Tensor::to copies it there");
}

GRADUAL_ONCE void EagerTape::check_on_host(const void* values) const {
  const Device& here = executor_->device();
  if (here.accelerator() != nullptr && here.accelerator()->holds(values))
    throw DataError("input " + std::to_string(inputs.size()) + " lies in the memory of " + here.name() +
                    ", but an eager tape reads samples from host memory");
}

GRADUAL_ONCE EagerTape& eager_tape(Var v) {
  if (!v.valid()) throw TapeError("this Var is empty: it has no value");
  v.node();
  if (v.tape->executor == nullptr) throw TapeError("the tape of this Var only records: values need an EagerTape");
  return static_cast<EagerTape&>(*v.tape);
}

GRADUAL_ONCE Tensor value(Var v) {
  EagerTape& tape = eager_tape(v);
  return tape.values().tensor(tape, v.id);
}

}  // namespace gradual
