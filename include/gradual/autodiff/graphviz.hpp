#pragma once
#include <string>

#include <gradual/autodiff/tape.hpp>

namespace gradual {

/// The tape as a graph for Graphviz (`dot -Tsvg`): inputs and parameters are boxes, what was recorded after the first adjoint
/// is grey, what the tape is for is drawn twice.
std::string graphviz(const Tape& tape);

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/autodiff/graphviz.ipp>
#endif
