#pragma once
#include <gradual/eager/shadow.hpp>

#include <gradual/core/canonical.hpp>

namespace gradual::eager {

GRADUAL_ONCE void Shadow::reserve(const Device& device, std::int64_t bytes, std::int64_t begin, std::int64_t end,
                                  std::int64_t p, bool last) {
  const auto inside = [p](std::int64_t position) { return p > 0 && is_inside_block(position, p); };
  if (total_.empty()) total_ = device.allocate(bytes, Category::gradients);
  if (open_.empty() && (inside(begin) || (!last && inside(end)))) open_ = device.allocate(bytes, Category::gradients);
}

GRADUAL_ONCE bool Shadow::lacks_block_of(std::int64_t begin, std::int64_t p) const {
  return open_end_ == 0 && is_inside_block(begin, p);
}

GRADUAL_ONCE void Shadow::extend(std::int64_t end, std::int64_t p, bool last) {
  fresh_ = false;
  open_end_ = !last && is_inside_block(end, p) ? block_end(end, p) : 0;
}

GRADUAL_ONCE void Shadow::close() {
  fresh_ = false;
  open_end_ = 0;
}

GRADUAL_ONCE Shadow Shadow::copy(const Device& device, std::int64_t bytes) const {
  if (fresh_) return *this;
  const auto copied = [&](const Storage& from) {
    Storage to = device.allocate(bytes, Category::gradients);
    device.copy(to.data(), from.data(), bytes);
    return to;
  };
  Storage total = copied(total_);
  return {std::move(total), has_open() ? copied(open_) : Storage(), open_end_};
}

}  // namespace gradual::eager
