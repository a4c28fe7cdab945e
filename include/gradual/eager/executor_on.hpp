#pragma once
#include <gradual/eager/cpu/executor.hpp>
#include <memory>

namespace gradual::eager {

/// What runs ops on a device: those of the list `Ops` as vector code of the processor, which shares them out to the
/// threads of `pool` (null: this one alone); a GPU knows the ops that it was made for.
template <class Ops>
std::unique_ptr<Executor> executor_on(const Device& device, cpu::ThreadPool* pool = nullptr) {
  if (!device.shares_host_memory()) return device.accelerator()->executor(device);
  return std::make_unique<CpuExecutor<Ops>>(device, pool);
}

}  // namespace gradual::eager
