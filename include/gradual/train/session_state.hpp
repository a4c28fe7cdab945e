#pragma once
#include <string>

#include <gradual/autodiff/repeats.hpp>
#include <gradual/train/session_step.hpp>
#include <gradual/train/state_file.hpp>

// The state of a compiled session as a file: parameters and optimizer state by name, counters as notes and, inside a window,
// its sums and unfinished blocks.

namespace gradual::detail {

/// Returns the FNV-1a hash of what a training program computes, without recomputations: a state identifies the sums of a window
/// by their places in the program.
std::string fingerprint(const SessionTables& tables);

/// `kind`: that of these arguments. Errors: those of an opaque optimizer.
template <class Window, class Step>
Checkpoint state_of(const StateKind& kind, const SessionOptions& options, const Window& window, const Step& step);

/// Errors: as `Session::restore`.
template <class Window, class Step>
void restore(const Checkpoint& file, const StateKind& kind, SessionOptions& options, Window& window, Step& step);

}  // namespace gradual::detail

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/train/fingerprint.ipp>
#endif
#include <gradual/train/session_state.ipp>
