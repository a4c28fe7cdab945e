// The source of gradual::kernels.
#define SHARED_KERNEL template
#include <gradual/shared_kernels.hpp>
