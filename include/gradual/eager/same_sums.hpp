#pragma once
#include <cstdint>

#include <gradual/eager/tape.hpp>

namespace gradual::eager {

/// Whether two tapes do the same with the sums over their batches, so that these may be added before it is done: their
/// values without samples are the same computations of sums at the same places.
bool same_sums(EagerTape& a, EagerTape& b);

/// A hash of what `same_sums` compares, but of the values of tensors instead of where they lie: the same in another process.
std::uint64_t fingerprint_of_sums(EagerTape& tape);

}  // namespace gradual::eager

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/eager/same_sums.ipp>
#endif
