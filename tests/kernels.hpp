#pragma once
// Shared by tests of single kernels: memory that reveals reads and writes out of bounds, and a second implementation of
// the rule of blocks stated in core/canonical.hpp.
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <gradual/core/math/fma.hpp>
#include <limits>
#include <vector>

namespace kernels {

template <class T>
std::vector<T> numbers(std::int64_t count, unsigned seed) {
  std::vector<T> result(static_cast<std::size_t>(count));
  for (T& x : result) {
    seed = seed * 1664525u + 1013904223u;
    x = static_cast<T>(seed >> 8) * T(0x1p-23) - T(1);
  }
  return result;
}

/// Elements that are NaN until they are written, between NaNs that must stay.
template <class T>
class Memory {
 public:
  explicit Memory(std::int64_t count)
      : values_(static_cast<std::size_t>(count + 2 * around), std::numeric_limits<T>::quiet_NaN()), count_(count) {}
  explicit Memory(const std::vector<T>& values) : Memory(static_cast<std::int64_t>(values.size())) {
    std::copy(values.begin(), values.end(), data());
  }
  T* data() { return values_.data() + around; }
  const T* data() const { return values_.data() + around; }
  T operator[](std::int64_t i) const { return data()[i]; }
  std::int64_t size() const { return count_; }
  bool kept_inside() const {
    const auto untouched = [](T x) { return x != x; };
    return std::all_of(values_.begin(), values_.begin() + around, untouched) &&
           std::all_of(values_.end() - around, values_.end(), untouched);
  }

 private:
  static constexpr std::ptrdiff_t around = 64;
  std::vector<T> values_;
  std::int64_t count_;
};

/// Elements that end at the end of a page that is followed by no memory: a kernel that reads beyond them crashes.
template <class T>
class Operand {
 public:
  explicit Operand(const std::vector<T>& values) : bytes_(values.size() * sizeof(T)) {
    const std::size_t room = (bytes_ + page - 1) / page * page;
    pages_ = mmap(nullptr, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages_ == MAP_FAILED || mprotect(static_cast<std::byte*>(pages_) + room, page, PROT_NONE) != 0) std::abort();
    data_ = reinterpret_cast<T*>(static_cast<std::byte*>(pages_) + room - bytes_);
    std::copy(values.begin(), values.end(), data_);
  }
  Operand(const Operand&) = delete;
  Operand& operator=(const Operand&) = delete;
  ~Operand() { munmap(pages_, (bytes_ + page - 1) / page * page + page); }
  const T* data() const { return data_; }
  T operator[](std::int64_t i) const { return data_[i]; }

 private:
  static constexpr std::size_t page = 4096;
  std::size_t bytes_;
  void* pages_;
  T* data_;
};

/// Returns the index of the first element in which two results differ, or −1; every NaN equals every NaN.
template <class T>
std::int64_t first_difference(const Memory<T>& got, const std::vector<T>& expected) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  for (std::int64_t i = 0; i < got.size(); ++i) {
    const T a = got[i], b = expected[static_cast<std::size_t>(i)];
    if (std::bit_cast<Bits>(a) != std::bit_cast<Bits>(b) && (a == a || b == b)) return i;
  }
  return -1;
}

/// Returns the number of the block that holds a position, where each sample has p: a sample of 128 positions or more is cut
/// into ⌈p/128⌉ blocks; bit_floor(128/p) smaller ones share one.
constexpr std::int64_t block_of(std::int64_t at, std::int64_t p) {
  if (p >= 128) return at / p * ((p + 127) / 128) + at % p / 128;
  return at / p / static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(128 / p)));
}

/// Sums `count` positions by chain = term(chain, position), with chains closed by the rule of blocks. W: the type of the
/// sum of closed blocks.
template <class T, class W = T, class Term>
W canonical_sum(std::int64_t count, std::int64_t p, Term term) {
  W total = 0;
  T chain = 0;
  for (std::int64_t at = 0; at < count; ++at) {
    chain = term(chain, at);
    if (at + 1 < count && block_of(at + 1, p) == block_of(at, p)) continue;
    total += chain;
    chain = 0;
  }
  return total;
}

/// Returns ways to split a window of `samples` samples.
inline std::vector<std::vector<std::int64_t>> splits(std::int64_t samples) {
  std::vector<std::vector<std::int64_t>> result{{samples}};
  for (const std::int64_t first : {1, 7, 64, 128}) {
    if (first >= samples) continue;
    result.push_back({first, samples - first});
    result.emplace_back();
    for (std::int64_t left = samples; left > 0; left -= first) result.back().push_back(std::min(first, left));
  }
  return result;
}

}  // namespace kernels
