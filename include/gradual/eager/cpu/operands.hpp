#pragma once
#include <algorithm>
#include <optional>

#include <gradual/eager/cpu/values.hpp>
#include <gradual/eager/cpu/view.hpp>

namespace gradual::eager {

inline constexpr std::int64_t chunk = 1024;  ///< elements of an operand that are made at a time

/// An operand of an elementwise op: elements of T in memory, elements that become T, one number everywhere, or a view.
template <class T>
class Operand {
 public:
  Operand() = default;

  static Operand dense(const T* data) {
    Operand o;
    o.data_ = data;
    return o;
  }
  /// Elements of E, which become T as they are read.
  template <class E>
  static Operand converted(const E* data) {
    Operand o;
    o.source_ = data;
    o.read_ = [](const Operand& own, std::int64_t begin, std::int64_t count, T* out) {
      const E* from = static_cast<const E*>(own.source_) + begin;
      GRADUAL_IVDEP
      for (std::int64_t i = 0; i < count; ++i) out[i] = number(from[i]);
    };
    return o;
  }
  static Operand constant(T value) {
    Operand o;
    o.value_ = value;
    return o;
  }
  /// A view of the elements at `source`, which is null for an iota.
  template <class E>
  static Operand view(const View& view, const E* source) {
    if (view.single()) return constant(source == nullptr ? T(0) : number(source[view.offset]));
    Operand o;
    o.view_ = view;
    o.source_ = source;
    o.read_ = [](const Operand& own, std::int64_t begin, std::int64_t count, T* out) {
      const E* from = static_cast<const E*>(own.source_);
      if (from != nullptr) read_view(*own.view_, begin, count, out, [from](std::int64_t i) { return number(from[i]); });
      else read_view(*own.view_, begin, count, out, [](std::int64_t i) { return static_cast<T>(i); });
    };
    return o;
  }

  /// Elements in memory, or null.
  const T* data() const { return data_; }
  /// After how many elements the same ones follow again; 0: they do not.
  std::int64_t period() const { return view_ ? view_->period() : data_ != nullptr || source_ != nullptr ? 0 : 1; }

  /// Makes elements begin … begin + count of what is not in memory.
  void write(std::int64_t begin, std::int64_t count, T* out) const {
    if (read_ != nullptr) read_(*this, begin, count, out);
    else std::fill_n(out, count, value_);
  }

 private:
  template <class E>
  static T number(E x) {
    return static_cast<T>(static_cast<Computed<E>>(x));
  }

  const T* data_ = nullptr;
  std::optional<View> view_;
  const void* source_ = nullptr;
  void (*read_)(const Operand&, std::int64_t begin, std::int64_t count, T* out) = nullptr;
  T value_ = T(0);
};

/// Reads an operand from the front, `step` elements at a time, through a buffer of as many where it is not in memory.
template <class T>
class OperandReader {
 public:
  OperandReader(const Operand<T>& operand, std::int64_t step, T* buffer)
      : operand_(&operand), repeats_(operand.period() > 0 && step % operand.period() == 0), buffer_(buffer) {}

  /// Elements begin … begin + count, where `begin` is a multiple of the step.
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

/// Elements that are read at a time of operands like these: whole periods, where they are short.
template <class T>
std::int64_t step_of(std::int64_t step, const Operand<T>& operand) {
  const std::int64_t period = operand.period();
  return period > 1 && period <= step ? step / period * period : step;
}

/// Node `id` as numbers of T; its own type may be another one, such as that of a condition or of elements of 16 bits.
template <class T>
Operand<T> operand_of(CpuValues& values, const Tape& tape, int id) {
  const Node& node = tape[id];
  return with_type(node.dtype, [&](auto t) {
    using E = decltype(t);
    if (node.op->kind == Kind::constant) return Operand<T>::constant(static_cast<T>(rounded_to<E>(node.attributes.number[0])));
    if (!values.in_memory(id) && is_view(node.op->kind) && node.op->kind != Kind::uses) {
      const bool iota = node.op->kind == Kind::iota;
      const E* source = iota ? nullptr : values.read<E>(tape, node.in[0]);
      return Operand<T>::view(View(node, iota ? node.shape : tape[node.in[0]].shape, values.batch()), source);
    }
    const E* data = values.read<E>(tape, id);
    if constexpr (std::is_same_v<E, T>) return Operand<T>::dense(data);
    else return Operand<T>::converted(data);
  });
}

}  // namespace gradual::eager
