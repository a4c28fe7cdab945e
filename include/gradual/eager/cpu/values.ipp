#pragma once
#include <gradual/eager/cpu/values.hpp>

#include <gradual/core/cpu/copy_row.hpp>

namespace gradual::eager {

GRADUAL_ONCE void widen(DType dtype, const void* from, std::int64_t begin, std::int64_t count, float* to) {
  with_small(dtype, [&](auto t) { cpu::copy_row(static_cast<const decltype(t)*>(from) + begin, count, to); });
}

GRADUAL_ONCE CpuValues::Running::Running(CpuValues& values, const Node& node)
    : values_(values),
      node_(node),
      outer_(values.floats_.size()),
      created_(std::exchange(values.created_, nullptr)),
      kept_(values.kept_) {}

GRADUAL_ONCE CpuValues::Running::~Running() {
  if (values_.created_ != nullptr) values_.round(node_, values_.created_, values_.kept_);
  values_.floats_.resize(outer_);
  values_.created_ = created_;
  values_.kept_ = kept_;
}

GRADUAL_ONCE Storage CpuValues::kept_as(const Node& node, Storage computed) {
  if (!is_small(node.dtype)) return computed;
  Storage kept = device_.allocate(bytes_of(node.shape, batch_, node.dtype));
  round(node, computed.as<float>(), kept.data());
  return kept;
}

GRADUAL_ONCE CpuValues::CpuValues(const Device& device, cpu::ThreadPool* pool) : Executor(device), pool_(pool) {
  if (pool_ != nullptr) sweep_elements_ = std::int64_t{pool_->size()} << 16;  // enough work to share
}

GRADUAL_ONCE void CpuValues::round(const Node& node, const float* from, void* to) const {
  with_small(node.dtype, [&](auto t) { cpu::copy_row(from, elements(node), static_cast<decltype(t)*>(to)); });
}

GRADUAL_ONCE const float* CpuValues::widened(const Node& node, const void* data) {
  floats_.push_back(device_.allocate(bytes_of(node.shape, batch_, DType::f32)));
  float* const to = floats_.back().as<float>();
  widen(node.dtype, data, 0, elements(node), to);
  return to;
}

}  // namespace gradual::eager
