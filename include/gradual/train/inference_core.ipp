#pragma once
#include <gradual/train/inference_core.hpp>

#include <new>
#include <utility>

#include <gradual/core/out_of_memory.hpp>
#include <gradual/train/parameters_file.hpp>
#include <gradual/train/place_of_nan.hpp>
#include <gradual/train/validate.hpp>

namespace gradual::detail {

template <class Backend, class Real>
InferenceCore<Backend, Real>::InferenceCore(const InferenceLayout& layout, const Kernels& kernels,
                                            std::span<const Real> parameters, std::int64_t batch, int threads)
    : InferenceCore(layout, kernels, copied(layout, parameters), batch, threads, true) {}

template <class Backend, class Real>
InferenceCore<Backend, Real>::InferenceCore(const InferenceLayout& layout, const Kernels& kernels, const Checkpoint& file,
                                            std::int64_t batch, int threads)
    : InferenceCore(layout, kernels, read(layout, file), batch, threads, true) {}

template <class Backend, class Real>
InferenceCore<Backend, Real>::InferenceCore(const InferenceCore& other)
    : InferenceCore(other.runner_.layout(), other.runner_.kernels(), other.weights_, other.runner_.batch(), other.threads_,
                    false) {}

template <class Backend, class Real>
InferenceCore<Backend, Real>::InferenceCore(const InferenceLayout& layout, const Kernels& kernels,
                                            std::shared_ptr<const Memory> weights, std::int64_t batch, int threads,
                                            bool fresh)
try : threads_(threads), transient_(layout.table(batch, threads).transient()), queue_(threads),
      runner_(layout, kernels, transient_.data(), batch, queue_) {
  share(std::move(weights));
  if (fresh) runner_.derive();
} catch (const std::bad_alloc&) {
  throw MemoryError("an inference: the system refused memory");
}

template <class Backend, class Real>
InferenceCore<Backend, Real>& InferenceCore<Backend, Real>::operator=(const InferenceCore& other) {
  [[maybe_unused]] const auto here = queue_.on_device();
  if (const std::int64_t batch = other.runner_.batch(); batch != runner_.batch())
    or_memory_error("an inference", [&] {
      Memory transient(runner_.layout().table(batch, threads_).transient());
      runner_.plan(transient.data(), batch);
      transient_ = std::move(transient);
    });
  share(other.weights_);
  return *this;
}

template <class Backend, class Real>
void InferenceCore<Backend, Real>::set_parameters(std::span<const Real> parameters) {
  [[maybe_unused]] const auto here = queue_.on_device();
  const InferenceLayout& layout = runner_.layout();
  if (weights_.use_count() > 1) {
    share(copied(layout, parameters));
  } else {
    check_count(layout, parameters);
    check_numbers(layout, queue_, parameters);
    std::shared_ptr<const Memory>(weights_).reset();  // use_count orders nothing; this release follows others' last reads
    queue_.write(weights_->data(), parameters.data(), layout.parameter_bytes);
  }
  runner_.derive();
}

template <class Backend, class Real>
void InferenceCore<Backend, Real>::share(std::shared_ptr<const Memory> weights) {
  weights_ = std::move(weights);
  runner_.read(weights_->data(), weights_->data() + aligned(runner_.layout().parameter_bytes));
}

template <class Backend, class Real>
void InferenceCore<Backend, Real>::check_count(const InferenceLayout& layout, std::span<const Real> parameters) {
  if (static_cast<std::int64_t>(parameters.size_bytes()) != layout.parameter_bytes)
    refuse_parameters("inference", layout.parameter_bytes / layout.real_bytes, parameters.size());
}

template <class Backend, class Real>
void InferenceCore<Backend, Real>::check_numbers(const InferenceLayout& layout, [[maybe_unused]] const Queue& queue,
                                                 std::span<const Real> parameters) {
  if constexpr (!Backend::shares_host_memory)
    if (queue.holds(parameters.data())) return;
  if (const std::string place = place_of_nan(layout.parameters, parameters); !place.empty())
    throw DataError("inference: " + place + " is not a number");
}

template <class Backend, class Real>
auto InferenceCore<Backend, Real>::copied(const InferenceLayout& layout, std::span<const Real> parameters)
    -> std::shared_ptr<const Memory> {
  return or_memory_error("an inference", [&] {
    check_count(layout, parameters);
    auto memory = std::make_shared<Memory>(layout.table(1).persistent());
    const Queue queue(1);
    check_numbers(layout, queue, parameters);
    queue.write(memory->data(), parameters.data(), layout.parameter_bytes);
    queue.wait();
    return memory;
  });
}

template <class Backend, class Real>
auto InferenceCore<Backend, Real>::read(const InferenceLayout& layout, const Checkpoint& file)
    -> std::shared_ptr<const Memory> {
  return or_memory_error("an inference", [&] {
    std::vector<Real> parameters(static_cast<std::size_t>(layout.parameter_bytes / layout.real_bytes));
    read_parameters(file, layout.parameters, std::span<Real>(parameters), every_name);
    return copied(layout, parameters);
  });
}

}  // namespace gradual::detail
