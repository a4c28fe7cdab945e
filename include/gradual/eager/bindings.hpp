#pragma once
#include <cstddef>
#include <utility>
#include <vector>

#include <gradual/autodiff/ops.hpp>
#include <gradual/autodiff/tape.hpp>
#include <gradual/eager/storage.hpp>

namespace gradual::eager {

/// What the inputs of a tape are given: addresses in the host's memory or the device's.
class Bindings {
 public:
  struct Given {
    const void* data = nullptr;
    bool on_device = false;  ///< else it lies in the host's memory
    Storage owner = {};      ///< of memory of the device that the input shares
  };

  /// Forgets all but the parameters.
  void reset() {
    samples_.clear();
    scalars_ = nullptr;
    weight_ = nullptr;
  }

  /// The next sample input, in order: the host's memory, which must outlive the values, or the device's that `owner`
  /// holds.
  void bind_input(const void* data, Storage owner) {
    const bool on_device = !owner.empty();
    // Without samples any address will do.
    samples_.push_back({data == nullptr ? this : data, on_device, std::move(owner)});
  }
  /// Another place of one, on the device.
  void rebind_input(std::size_t which, const void* data) {
    samples_[which].data = data, samples_[which].on_device = true;
  }
  /// On the device.
  void bind_parameters(const void* values, DType dtype, const std::vector<std::int64_t>& offsets) {
    parameters_ = static_cast<const std::byte*>(values);
    parameter_bytes_ = size_of(dtype);
    offsets_ = &offsets;
  }
  /// The numbers behind scalars, by slot: all of one type.
  void bind_scalars(const void* scalars, DType dtype) {
    scalars_ = static_cast<const std::byte*>(scalars);
    scalar_bytes_ = size_of(dtype);
  }
  /// The weight of the window, which is the one scalar that backward reads.
  void bind_weight(const void* weight) { weight_ = weight; }

  const Given& sample(std::size_t which) const { return samples_[which]; }
  /// What an input node is given; no address for a scalar that was given nothing. Errors: TapeError for other such
  /// inputs.
  Given of(const Tape& tape, int id) const {
    const Node& node = tape[id];
    const auto which = static_cast<std::size_t>(node.attributes.integer[0]);
    if (is_input(node, Input::sample)) {
      if (which >= samples_.size()) throw TapeError("an input of an eager tape is given with its values");
      return samples_[which];
    }
    if (is_input(node, Input::parameter)) {
      if (parameters_ == nullptr) throw TapeError("a parameter is read on a tape that was given no parameters");
      return {parameters_ + (*offsets_)[which] * parameter_bytes_, true};
    }
    if (scalars_ != nullptr) return {scalars_ + node.attributes.integer[0] * scalar_bytes_};
    return {id >= tape.first_adjoint ? weight_ : nullptr};
  }

 private:
  std::vector<Given> samples_;
  const std::byte *parameters_ = nullptr, *scalars_ = nullptr;
  std::int64_t parameter_bytes_ = 0, scalar_bytes_ = 0;  ///< of one of their numbers
  const std::vector<std::int64_t>* offsets_ = nullptr;
  const void* weight_ = nullptr;
};

}  // namespace gradual::eager
