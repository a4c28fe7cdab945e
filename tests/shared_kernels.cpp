#define SHARED_KERNEL template
#include "shared_kernels.hpp"
