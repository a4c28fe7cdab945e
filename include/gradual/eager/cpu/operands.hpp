#pragma once
#include <gradual/eager/cpu/view.hpp>

namespace gradual::eager {

inline constexpr std::int64_t chunk = 1024;  ///< elements of an operand that are made at a time

/// An operand of an elementwise op: elements of T in memory, or what can be read a chunk at a time.
template <class T>
class Operand {
 public:
  Operand() = default;

  static Operand dense(const T* data) {
    Operand o;
    o.data_ = data;
    return o;
  }
  /// One number everywhere; `buffer` takes a chunk.
  static Operand constant(T value, std::int64_t count, T* buffer) {
    Operand o;
    o.buffer_ = buffer;
    for (std::int64_t i = 0; i < count && i < chunk; ++i) buffer[i] = value;
    return o;
  }
  /// A view of the elements at `source`, which may be null for an iota.
  static Operand view(const View& view, const T* source, std::int64_t count, T* buffer) {
    if (view.single()) return constant(source == nullptr ? T(0) : source[view.offset], count, buffer);
    Operand o;
    o.view_ = &view;
    o.source_ = source;
    o.buffer_ = buffer;
    return o;
  }

  bool in_memory() const { return data_ != nullptr; }

  /// Elements begin … begin + count, at most a chunk where not in memory.
  const T* at(std::int64_t begin, std::int64_t count) const {
    if (data_ != nullptr) return data_ + begin;
    if (view_ != nullptr) {
      if (source_ == nullptr) read_view(*view_, begin, count, buffer_, [](std::int64_t i) { return static_cast<T>(i); });
      else read_view(*view_, begin, count, buffer_, [s = source_](std::int64_t i) { return s[i]; });
    }
    return buffer_;
  }

 private:
  const T* data_ = nullptr;
  const View* view_ = nullptr;
  const T* source_ = nullptr;
  T* buffer_ = nullptr;
};

}  // namespace gradual::eager
