#pragma once
#include <cstddef>
#include <vector>

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
  void reset();

  /// The next sample input, in order: the host's memory, which must outlive the values, or the device's that `owner`
  /// holds.
  void bind_input(const void* data, Storage owner);
  /// Another place of one, on the device.
  void rebind_input(std::size_t which, const void* data);
  /// On the device.
  void bind_parameters(const void* values, DType dtype, const std::vector<std::int64_t>& offsets);
  /// The numbers behind scalars, by slot: all of one type.
  void bind_scalars(const void* scalars, DType dtype);
  /// The weight of the window, which is the one scalar that backward reads.
  void bind_weight(const void* weight) { weight_ = weight; }

  const Given& sample(std::size_t which) const { return samples_[which]; }
  /// What an input node is given; no address for a scalar that was given nothing. Errors: TapeError for other such
  /// inputs.
  Given of(const Tape& tape, int id) const;

 private:
  std::vector<Given> samples_;
  const std::byte *parameters_ = nullptr, *scalars_ = nullptr;
  std::int64_t parameter_bytes_ = 0, scalar_bytes_ = 0;  ///< of one of their numbers
  const std::vector<std::int64_t>* offsets_ = nullptr;
  const void* weight_ = nullptr;
};

}  // namespace gradual::eager

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/eager/bindings.ipp>
#endif
