#pragma once
#include <algorithm>
#include <cstddef>
#include <span>

#include <gradual/files/checkpoint.hpp>

namespace fuzz {

/// Returns whether two files have the same contents, tensors bit for bit.
inline bool same(const gradual::Checkpoint& a, const gradual::Checkpoint& b) {
  return a.notes == b.notes && std::ranges::equal(a.tensors, b.tensors, [](const auto& s, const auto& t) {
    const auto bytes = [](const auto& named) { return std::as_bytes(std::span(named.second.values)); };
    return s.first == t.first && s.second.shape == t.second.shape && s.second.dtype == t.second.dtype &&
           std::ranges::equal(bytes(s), bytes(t));
  });
}

}  // namespace fuzz
