#include <gradual/shared_kernels.hpp>

int main() {}
