#pragma once
#include <gradual/eager/cpu/executor.hpp>
#include <memory>

namespace gradual::eager {

/// Returns the executor of ops on a device: on the processor, those of the list `Ops` as vector code, shared among the threads
/// of `pool` (null: this one alone); a GPU knows the ops that it was made for.
template <class Ops>
std::unique_ptr<Executor> executor_on(const Device& device, cpu::ThreadPool* pool = nullptr) {
  if (!device.shares_host_memory()) return device.accelerator()->executor(device);
  return std::make_unique<CpuExecutor<Ops>>(device, pool);
}

}  // namespace gradual::eager
