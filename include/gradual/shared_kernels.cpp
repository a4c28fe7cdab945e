// The source file of gradual::kernels for the kernels.
#ifndef GRADUAL_SHARED_KERNELS
#define GRADUAL_SHARED_KERNELS
#endif

#define GRADUAL_SHARED_KERNEL template
#include <gradual/shared_kernels.hpp>
