#pragma once
#include <string>

#include <gradual/autodiff/tape.hpp>

namespace gradual {

/// Returns the tape as a graph for Graphviz (`dot -Tsvg`): inputs and parameters are boxes, nodes from the first adjoint on are
/// grey, roots have a double outline.
std::string graphviz(const Tape& tape);

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/autodiff/graphviz.ipp>
#endif
