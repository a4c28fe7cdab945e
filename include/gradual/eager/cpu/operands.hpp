#pragma once
#include <algorithm>
#include <optional>

#include <gradual/autodiff/strided_view.hpp>
#include <gradual/eager/by_sample.hpp>
#include <gradual/eager/cpu/values.hpp>

namespace gradual::eager {

inline constexpr std::int64_t chunk = 1024;  ///< elements of an operand that are computed at a time

/// An operand of an elementwise op: elements of T in memory, one number everywhere, or a view.
template <class T>
class Operand {
 public:
  Operand() = default;

  static Operand dense(const T* data) {
    Operand o;
    o.data_ = data;
    return o;
  }
  static Operand constant(T value) {
    Operand o;
    o.value_ = value;
    return o;
  }
  /// Makes a view of the elements at `source`, which is null for an iota.
  static Operand view(const StridedView& view, const T* source) {
    if (view.single()) return constant(source == nullptr ? T(0) : source[view.offset]);
    Operand o;
    o.view_ = view;
    o.source_ = source;
    return o;
  }

  /// Returns the elements in memory, or null.
  const T* data() const { return data_; }
  /// Returns the number of elements after which they repeat; 0: they do not.
  std::int64_t period() const { return data_ != nullptr ? 0 : view_ ? view_->period() : 1; }

  /// Writes elements begin … begin + count of an operand that is not in memory.
  void write(std::int64_t begin, std::int64_t count, T* out) const {
    if (!view_) std::fill_n(out, count, value_);
    else if (source_ == nullptr) read_view(*view_, begin, count, out, [](std::int64_t i) { return static_cast<T>(i); });
    else read_view(*view_, begin, count, out, [s = source_](std::int64_t i) { return s[i]; });
  }

 private:
  const T* data_ = nullptr;
  std::optional<StridedView> view_;
  const T* source_ = nullptr;
  T value_ = T(0);
};

/// Reads an operand from the front, `step` elements at a time, through a buffer of that size if it is not in memory.
template <class T>
class OperandReader {
 public:
  OperandReader(const Operand<T>& operand, std::int64_t step, T* buffer)
      : operand_(&operand), repeats_(operand.period() > 0 && step % operand.period() == 0), buffer_(buffer) {}

  /// Returns elements begin … begin + count, where `begin` is a multiple of the step.
  const T* at(std::int64_t begin, std::int64_t count) {
    if (operand_->data() != nullptr) return operand_->data() + begin;
    if (repeats_ && count <= made_) return buffer_;
    operand_->write(begin, count, buffer_);
    made_ = count;
    return buffer_;
  }

 private:
  const Operand<T>* operand_;
  bool repeats_;
  T* buffer_;
  std::int64_t made_ = 0;
};

/// Returns how many elements are read at a time of operands like these: whole periods, if these are short.
template <class T>
std::int64_t step_of(std::int64_t step, const Operand<T>& operand) {
  const std::int64_t period = operand.period();
  return period > 1 && period <= step ? step / period * period : step;
}

/// Returns the number of a constant or a padding, rounded to the node's type.
template <class T>
T number_in(const Node& node) {
  const double number = node.attributes.number;
  if (!is_small(node.dtype)) return static_cast<T>(number);
  return with_small(node.dtype, [&](auto t) { return static_cast<T>(rounded_to<decltype(t)>(number)); });
}

/// Returns node `id` as elements of T. A value of another type, such as the condition of a choice between doubles, is converted
/// as a whole into `converted`.
template <class T>
Operand<T> operand_of(CpuValues& values, const Tape& tape, int id, Storage& converted) {
  const Node& node = tape[id];
  if (node.op->kind == Kind::constant) return Operand<T>::constant(number_in<T>(node));
  if (computed_in(node.dtype) != dtype_of<T>) {
    const std::int64_t count = values.elements(node);
    with_computed(node.dtype, [&](auto t) {
      const auto* from = values.read<decltype(t)>(tape, id);
      converted = values.device().allocate(bytes_of(node.shape, values.batch(), dtype_of<T>));
      for (std::int64_t i = 0; i < count; ++i) converted.template as<T>()[i] = static_cast<T>(from[i]);
    });
    return Operand<T>::dense(converted.template as<T>());
  }
  if (!values.in_memory(id) && is_view(node.op->kind) && node.op->kind != Kind::uses) {
    const bool iota = node.op->kind == Kind::iota;
    const T* source = iota ? nullptr : values.read<T>(tape, node.in[0]);
    return Operand<T>::view(StridedView(node, iota ? node.shape : tape[node.in[0]].shape, values.batch()), source);
  }
  return Operand<T>::dense(values.read<T>(tape, id));
}

}  // namespace gradual::eager
