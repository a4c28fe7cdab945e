#pragma once
#include <gradual/train/inference_core.hpp>

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include <gradual/core/out_of_memory.hpp>
#include <gradual/train/parameters_file.hpp>
#include <gradual/train/validate.hpp>

namespace gradual::detail {

template <class Backend, class Real>
InferenceCore<Backend, Real>::InferenceCore(const InferenceLayout& layout, const Kernels& kernels,
                                            std::span<const Real> parameters, std::int64_t batch)
    : InferenceCore(layout, kernels, copied(layout, parameters), batch, true) {}

template <class Backend, class Real>
InferenceCore<Backend, Real>::InferenceCore(const InferenceLayout& layout, const Kernels& kernels, const Checkpoint& file,
                                            std::int64_t batch)
    : InferenceCore(layout, kernels, read(layout, file), batch, true) {}

template <class Backend, class Real>
InferenceCore<Backend, Real>::InferenceCore(const InferenceCore& other)
    : InferenceCore(*other.layout_, *other.kernels_, other.weights_, other.batch_, false) {}

template <class Backend, class Real>
[[gnu::cold]] InferenceCore<Backend, Real>::InferenceCore(const InferenceLayout& layout, const Kernels& kernels,
                                                          std::shared_ptr<const Memory> weights, std::int64_t batch, bool fresh)
try : layout_(&layout), kernels_(&kernels), address_(layout.program.nodes.size()), queue_(1) {
  plan(batch);
  share(std::move(weights));
  if (fresh) derive();
} catch (const std::bad_alloc&) {
  throw MemoryError("an inference: the system refused memory");
}

template <class Backend, class Real>
[[gnu::cold]] InferenceCore<Backend, Real>& InferenceCore<Backend, Real>::operator=(const InferenceCore& other) {
  if (batch_ != other.batch_) or_memory_error("an inference", [&] { plan(other.batch_); });
  share(other.weights_);
  return *this;
}

template <class Backend, class Real>
void InferenceCore<Backend, Real>::plan(std::int64_t batch) {
  std::vector<std::int64_t> offset(address_.size() + 1);
  layout_->program.plan.offsets(batch, offset.data());
  transient_ = Memory(layout_->table(batch).transient());
  batch_ = batch;
  std::byte* const base = transient_.data() + layout_->staged_bytes(batch);
  for (std::size_t i = 0; i < address_.size(); ++i)
    if (const int life = layout_->program.plan.lifetime_of[i]; life >= 0)
      address_[i] = base + offset[static_cast<std::size_t>(life)];
  workspace_ = base + layout_->program.transient_bytes(batch);
}

template <class Backend, class Real>
void InferenceCore<Backend, Real>::set_parameters(std::span<const Real> parameters) {
  check_parameters(*layout_, parameters);
  if (weights_.use_count() > 1) {
    share(copied(*layout_, parameters));
  } else {
    std::shared_ptr<const Memory>(weights_).reset();  // a count orders nothing, letting go comes after others' last reads
    queue_.write(weights_->data(), parameters.data(), layout_->parameter_bytes);
  }
  derive();
}

template <class Backend, class Real>
void InferenceCore<Backend, Real>::share(std::shared_ptr<const Memory> weights) {
  weights_ = std::move(weights);
  find_weights();
  queue_.plan(batch_, 0, 0);  // forgets what was recorded with the others' places
}

template <class Backend, class Real>
void InferenceCore<Backend, Real>::find_weights() {
  const ProgramTables& program = layout_->program;
  std::byte* next = weights_->data() + aligned(layout_->parameter_bytes);
  for (int i = 0; i < program.size(); ++i) {
    const Node& node = program.node(i);
    if (is_input(node, Input::parameter)) {
      std::int64_t elements = 0;
      for (std::int64_t p = 0; p < node.attributes.integer[0]; ++p)
        elements += layout_->parameters[static_cast<std::size_t>(p)].shape.unit();
      address_[static_cast<std::size_t>(i)] = weights_->data() + elements * layout_->real_bytes;
    } else if (program.is_derived(i)) {
      address_[static_cast<std::size_t>(i)] = std::exchange(next, next + program.node_bytes(i));
    }
  }
}

template <class Backend, class Real>
void InferenceCore<Backend, Real>::derive() {
  queue_.run(*kernels_, Phase::prologue, arguments_for(0));
  queue_.wait();  // copies have queues of their own
}

template <class Backend, class Real>
StepArguments InferenceCore<Backend, Real>::arguments_for(std::int64_t samples) const {
  StepArguments arguments;
  arguments.address = address_.data();
  arguments.workspace = workspace_;
  arguments.batch = samples;
  return arguments;
}

template <class Backend, class Real>
void InferenceCore<Backend, Real>::check_parameters(const InferenceLayout& layout, std::span<const Real> parameters) {
  if (static_cast<std::int64_t>(parameters.size_bytes()) != layout.parameter_bytes)
    refuse_parameters("inference", layout.parameter_bytes / layout.real_bytes, parameters.size());
}

template <class Backend, class Real>
[[gnu::cold]] auto InferenceCore<Backend, Real>::copied(const InferenceLayout& layout, std::span<const Real> parameters)
    -> std::shared_ptr<const Memory> {
  check_parameters(layout, parameters);
  Backend::check_numerics();
  return or_memory_error("an inference", [&] {
    auto memory = std::make_shared<Memory>(layout.table(1).persistent());
    const typename Backend::Queue queue(1);
    queue.write(memory->data(), parameters.data(), layout.parameter_bytes);
    queue.wait();
    return memory;
  });
}

template <class Backend, class Real>
[[gnu::cold]] auto InferenceCore<Backend, Real>::read(const InferenceLayout& layout, const Checkpoint& file)
    -> std::shared_ptr<const Memory> {
  return or_memory_error("an inference", [&] {
    std::vector<Real> parameters(static_cast<std::size_t>(layout.parameter_bytes / layout.real_bytes));
    read_parameters(file, layout.parameters, std::span<Real>(parameters), every_name);
    return copied(layout, parameters);
  });
}

template <class Backend, class Real>
void InferenceCore<Backend, Real>::predict(std::int64_t samples, const void* const* in, std::span<Real> out) {
  const std::int64_t width = layout_->width;
  if (std::ssize(out) != samples * width)
    throw DataError("inference: " + std::to_string(samples) + " samples need " + std::to_string(samples * width) +
                    " outputs, got " + std::to_string(out.size()));
  for (std::int64_t done = 0; done < samples; done += batch_)
    run(done, std::min(batch_, samples - done), in, out.data() + done * width);
}

template <class Backend, class Real>
void InferenceCore<Backend, Real>::run(std::int64_t first, std::int64_t part, const void* const* in, Real* out) {
  const ProgramTables& program = layout_->program;
  const int stored = program.storage[layout_->prediction];
  const bool copies = program.node(stored).op->kind == Kind::input;  // which no kernel writes
  const std::int64_t bytes = part * layout_->width * layout_->real_bytes;
  void*& result = address_[static_cast<std::size_t>(stored)];
  std::byte* next = transient_.data();
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    const std::int64_t of_sample = program.inputs[i].shape.unit() * size_of(program.inputs[i].dtype);
    const void* from = static_cast<const std::byte*>(in[i]) + first * of_sample;
    if constexpr (!Backend::shares_host_memory) {
      queue_.write(next, from, part * of_sample);
      from = std::exchange(next, next + aligned(batch_ * of_sample));
    }
    if (const int node = program.input_nodes[i]; node >= 0) address_[static_cast<std::size_t>(node)] = const_cast<void*>(from);
  }
  if (!copies) result = Backend::shares_host_memory ? static_cast<void*>(out) : next;
  queue_.run(*kernels_, Phase::forward, arguments_for(part));
  if constexpr (!Backend::shares_host_memory) queue_.read(out, result, bytes);
  else if (copies) std::memcpy(out, result, static_cast<std::size_t>(bytes));
}

}  // namespace gradual::detail
