#pragma once
#include <vector>

#include <gradual/eager/replay.hpp>
#include <gradual/train/update_parts.hpp>

namespace gradual {

/// An update in numbers of type Real, run op by op over all elements, or over one parameter after another.
template <class Real = float>
class UpdateByOps {
 public:
  /// `numbers`: its scalars, by slot; must outlive this. Errors: MemoryError.
  template <class Ops>
  UpdateByOps(const Device& device, Tape update, const UpdateParts& parts, const Real* numbers, Ops ops)
      : UpdateByOps(eager::Replay(device, std::move(update), ops), parts, numbers) {}

  /// `arrays`: places of the parameters, their gradient and the states. Errors: MemoryError, before anything is changed.
  void run(Real* const* arrays, const Randomness& random);

 private:
  UpdateByOps(eager::Replay replay, const UpdateParts& parts, const Real* numbers);
  const Tape& tape() const { return replay_.tape(); }

  UpdateParts parts_;
  eager::Replay replay_;
  std::vector<eager::Storage> results_;  ///< of each root: all are computed before the first is written
};

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/train/update_by_ops.ipp>
#else
namespace gradual {
extern template class UpdateByOps<float>;
extern template class UpdateByOps<double>;
}  // namespace gradual
#endif
