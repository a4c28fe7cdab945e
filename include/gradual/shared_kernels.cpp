// Of the sources of gradual::kernels that with kernels.
#define GRADUAL_SHARED_KERNEL template
#include <gradual/shared_kernels.hpp>
