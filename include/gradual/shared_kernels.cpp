// The source of gradual::kernels.
#define GRADUAL_SHARED_KERNEL template
#include <gradual/shared_kernels.hpp>
