#pragma once
// Makes libtorch run as fast as it can on one thread.
#include <dlfcn.h>
#include <malloc.h>
#include <torch/torch.h>

#include <cstdio>

/// Limits libtorch to one thread, lets it keep memory instead of asking the system for it in each step, and prints which
/// library multiplies its matrices. `torch::set_num_threads` does not reach OpenBLAS, which has threads of its own.
inline void run_libtorch_at_its_best() {
  torch::set_num_threads(1);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  void* const set_threads = dlsym(RTLD_DEFAULT, "openblas_set_num_threads");
  void* const configuration = dlsym(RTLD_DEFAULT, "openblas_get_config");
  if (set_threads) reinterpret_cast<void (*)(int)>(set_threads)(1);
  std::printf("libtorch %s, %s\n", TORCH_VERSION,
              configuration ? reinterpret_cast<char* (*)()>(configuration)() : "no OpenBLAS");
}
