#pragma once
#include <gradual/train/inference_runner.hpp>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <utility>

namespace gradual::detail {

template <class Backend, class Real>
InferenceRunner<Backend, Real>::InferenceRunner(const InferenceLayout& layout, const Kernels& kernels,
                                                std::byte* transient, std::int64_t batch, Queue& queue)
    : layout_(&layout), kernels_(&kernels), address_(layout.program.nodes.size()), queue_(queue) {
  plan(transient, batch);
}

template <class Backend, class Real>
void InferenceRunner<Backend, Real>::plan(std::byte* transient, std::int64_t batch) {
  std::vector<std::int64_t> offset(address_.size() + 1);
  transient_ = transient, batch_ = batch;
  std::byte* const base = transient + layout_->staged_bytes(batch);
  workspace_ = layout_->program.place_transient(batch, base, offset.data(), address_.data());
}

template <class Backend, class Real>
void InferenceRunner<Backend, Real>::read(std::byte* parameters, std::byte* derived) {
  const ProgramTables& program = layout_->program;
  for (int i = 0; i < program.size(); ++i) {
    const Node& node = program.node(i);
    if (is_input(node, Input::parameter)) {
      std::int64_t elements = 0;
      for (std::int64_t p = 0; p < node.attributes.integer[0]; ++p)
        elements += layout_->parameters[static_cast<std::size_t>(p)].shape.unit();
      address_[static_cast<std::size_t>(i)] = parameters + elements * layout_->real_bytes;
    } else if (program.is_derived(i)) {
      address_[static_cast<std::size_t>(i)] = std::exchange(derived, derived + program.node_bytes(i));
    }
  }
  queue_.plan(batch_, 0, 0);  // forgets what was recorded with other addresses
}

template <class Backend, class Real>
void InferenceRunner<Backend, Real>::derive() {
  queue_.run(*kernels_, Phase::prologue, arguments_for(0));
  queue_.wait();  // copies have queues of their own
}

template <class Backend, class Real>
StepArguments InferenceRunner<Backend, Real>::arguments_for(std::int64_t samples) const {
  StepArguments arguments;
  arguments.address = address_.data();
  arguments.workspace = workspace_;
  arguments.batch = samples;
  return arguments;
}

template <class Backend, class Real>
void InferenceRunner<Backend, Real>::predict(std::int64_t samples, const void* const* in, std::span<Real> out,
                                             const Randomness& random) {
  const std::int64_t width = layout_->width;
  if (std::ssize(out) != samples * width)
    throw DataError("inference: " + std::to_string(samples) + (samples == 1 ? " sample needs " : " samples need ") +
                    std::to_string(samples * width) + " outputs, got " + std::to_string(out.size()));
  refuse_overlap(samples, in, out);
  if constexpr (!Backend::shares_host_memory) queue_.behind_others(out.data());
  try {
    for (std::int64_t done = 0; done < samples; done += batch_)
      run(done, std::min(batch_, samples - done), in, out.data() + done * width, random);
  } catch (...) {
    queue_.wait();  // nothing may write to memory that the caller can now free
    throw;
  }
  queue_.wait();
}

template <class Backend, class Real>
void InferenceRunner<Backend, Real>::refuse_overlap(std::int64_t samples, const void* const* in, std::span<Real> out) const {
  const std::less<const void*> before;
  for (std::size_t i = 0; i < layout_->program.inputs.size(); ++i) {
    const auto& input = layout_->program.inputs[i];
    const void* const end = static_cast<const std::byte*>(in[i]) + input.shape.elements(samples) * size_of(input.dtype);
    if (before(in[i], out.data() + out.size()) && before(out.data(), end))
      throw DataError("inference: outputs would be written over input " + std::to_string(i) + " while it is read");
  }
}

template <class Backend, class Real>
void InferenceRunner<Backend, Real>::run(std::int64_t first, std::int64_t part, const void* const* in, Real* out,
                                         Randomness random) {
  const ProgramTables& program = layout_->program;
  const int stored = program.storage[layout_->prediction];
  const bool copies = program.node(stored).op->kind == Kind::input;  // no kernel writes an input
  const std::int64_t bytes = part * layout_->width * layout_->real_bytes;
  void*& result = address_[static_cast<std::size_t>(stored)];
  std::byte* next = transient_;
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
  StepArguments arguments = arguments_for(part);
  arguments.random = random;
  arguments.random.begin += first;
  queue_.run(*kernels_, Phase::forward, arguments);
  if constexpr (!Backend::shares_host_memory) queue_.copy(out, result, bytes);
  else if (copies) std::memcpy(out, result, static_cast<std::size_t>(bytes));
}

}  // namespace gradual::detail
