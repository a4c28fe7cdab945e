// The source file of gradual::kernels for the kernels.
#ifndef GRADUAL_SHARED_KERNELS
#define GRADUAL_SHARED_KERNELS
#endif

#include <gradual/autodiff/cpu/interpreted_loop.ipp>
#include <gradual/autodiff/cpu/op_loops.ipp>

#define GRADUAL_SHARED_KERNEL template
#include <gradual/shared_kernels.hpp>
