#pragma once
#include <cstddef>
#include <vector>

#include <gradual/autodiff/tape.hpp>
#include <gradual/eager/storage.hpp>

namespace gradual::eager {

/// The data bound to the inputs of a tape: addresses in host or device memory.
class Bindings {
 public:
  struct Given {
    const void* data = nullptr;
    bool on_device = false;  ///< else in the host's memory
    Storage owner = {};      ///< of device memory that the input shares
  };

  /// Forgets all bindings but the parameters.
  void reset();

  /// Binds the next sample input, in order, to host memory, which must outlive the values, or to device memory that `owner`
  /// holds.
  void bind_input(const void* data, Storage owner = {});
  /// Moves a sample input to another address on the device.
  void rebind_input(std::size_t which, const void* data);
  /// Binds parameters to device memory.
  void bind_parameters(const void* values, DType dtype, const std::vector<std::int64_t>& offsets);
  /// Binds the numbers behind scalars, by slot: all of one type, in host memory like the weight.
  void bind_scalars(const void* scalars, DType dtype);
  /// Binds the weight of the window, the only scalar that backward reads.
  void bind_weight(const void* weight) { weight_ = weight; }

  const Given& sample(std::size_t which) const { return samples_[which]; }
  /// Returns what an input node is bound to; no address for an unbound scalar. Errors: TapeError for other unbound inputs.
  Given of(const Tape& tape, int id) const;

 private:
  std::vector<Given> samples_;
  const std::byte *parameters_ = nullptr, *scalars_ = nullptr;
  std::int64_t parameter_bytes_ = 0, scalar_bytes_ = 0;  ///< of one number
  const std::vector<std::int64_t>* offsets_ = nullptr;
  const void* weight_ = nullptr;
};

}  // namespace gradual::eager

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/eager/bindings.ipp>
#endif
