#pragma once
#include <cstdint>

#include <gradual/eager/tape.hpp>

namespace gradual::eager {

/// Whether two tapes compute the same from the sums over their batches, so that these may be added up first: their values
/// without samples are the same computations of sums at the same places.
bool same_sums(EagerTape& a, EagerTape& b);

/// Returns a hash of what `same_sums` compares, with the values of tensors instead of their addresses: the same in another
/// process.
std::uint64_t fingerprint_of_sums(EagerTape& tape);

}  // namespace gradual::eager

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/eager/same_sums.ipp>
#endif
