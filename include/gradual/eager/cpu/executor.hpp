#pragma once
#include <gradual/core/math/all_finite.hpp>
#include <gradual/core/numerics_check.hpp>
#include <gradual/eager/cpu/cuts.hpp>
#include <gradual/eager/cpu/elementwise.hpp>
#include <gradual/eager/cpu/places.hpp>
#include <gradual/eager/cpu/products.hpp>
#include <gradual/eager/cpu/row_reduce.hpp>

namespace gradual::eager {

/// Runs ops on the processor: those of the list `Ops` as vector code, others through their scalar functors. Views are
/// read where they are used, a chunk at a time.
template <class Ops>
class CpuExecutor final : public CpuValues {
 public:
  /// `pool`: threads that share out what is worth it; null: this one alone.
  explicit CpuExecutor(const Device& device, cpu::ThreadPool* pool = nullptr) : CpuValues(device, pool) { check_numerics(); }

  void run(const Tape& tape, int id) override {
    const Node& node = tape[id];
    const Running running(*this, node);
    switch (node.op->kind) {
      case Kind::input: return find_input(tape, id);
      case Kind::constant:
      case Kind::iota:
      case Kind::broadcast:
      case Kind::transpose:
      case Kind::slice:
      case Kind::uses: return;
      case Kind::pad: return with_computed(node.dtype, [&](auto t) { run_pad<decltype(t)>(*this, tape, id); });
      case Kind::reshape: return share(tape, id);
      case Kind::map:
        if (is<StopGradient>(node)) return share(tape, id);
        return with_computed(node.dtype, [&](auto t) { run_elementwise<decltype(t)>(*this, table, tape, id); });
      case Kind::row_reduce:
        return with_computed(tape[node.in[0]].dtype, [&](auto t) { run_row_reduce<decltype(t)>(*this, table, tape, id); });
      case Kind::random: return with_real(node, [&](auto t) { draw<decltype(t)>(*this, random_, tape, id); });
      case Kind::contract: return with_real(node, [&](auto t) { run_matmul<decltype(t)>(*this, tape, id); });
      case Kind::convolve: return with_real(node, [&](auto t) { run_convolution<decltype(t)>(*this, tape, id); });
      case Kind::gather: return with_real(node, [&](auto t) { run_gather<decltype(t)>(*this, tape, id); });
      case Kind::pool: return with_real(node, [&](auto t) { run_pool<decltype(t)>(*this, tape, id); });
      case Kind::batch_reduce:
      case Kind::batch_contract:
      case Kind::batch_convolve:
      case Kind::batch_scatter: {
        Shadow whole;
        reserve(tape, id, whole, 0, true);
        add_cut(tape, id, whole, 0, true);
        close_cut(tape, id, whole);
        hold(id, std::move(whole.total));
      }
    }
  }

  void add_cut(const Tape& tape, int cut, Shadow& shadow, std::int64_t begin, bool last) override {
    with_real(tape[cut], [&](auto t) { Cut<decltype(t)>(tape, cut).add(*this, shadow, begin, last); });
  }
  void close_cut(const Tape& tape, int cut, Shadow& shadow) override {
    with_real(tape[cut], [&](auto t) { Cut<decltype(t)>(tape, cut).close(*this, shadow); });
  }
  bool cut_is_finite(const Tape& tape, int cut, const Shadow& shadow) const override {
    bool finite = true;
    with_real(tape[cut], [&](auto t) {
      using T = decltype(t);
      const auto count = static_cast<std::size_t>(tape[cut].shape.unit());
      finite = (shadow.fresh || math::all_finite(std::span<const T>(shadow.total.as<T>(), count))) &&
               (shadow.open_end == 0 || math::all_finite(std::span<const T>(shadow.open.as<T>(), count)));
    });
    return finite;
  }
  void reserve(const Tape& tape, int cut, Shadow& shadow, std::int64_t begin, bool last) override {
    Executor::reserve(tape, cut, shadow, begin, last);
    with_real(tape[cut], [&](auto t) {
      using T = decltype(t);
      const Cut<T> sum(tape, cut);
      workspace<T>(sum.workspace());
      rows<T>(sum.widened());
    });
  }

 private:
  /// Calls f(a value of what the node is computed in). Errors: TypeError for integers.
  template <class F>
  static void with_real(const Node& node, F f) {
    if (node.dtype == DType::f64) return f(double{});
    if (node.dtype == DType::i32) throw TypeError(std::string(node.op->name) + ": has no rule for integers");
    f(float{});
  }

  void materialise(const Tape& tape, int id) override {
    const Node& node = tape[id];
    const Running running(*this, node);
    with_computed(node.dtype, [&](auto t) {
      using T = decltype(t);
      const bool uses = node.op->kind == Kind::uses;
      hold(id, kept_as(node, uses ? uses_in_memory<T>(*this, tape, id) : view_in_memory<T>(*this, tape, id)));
    });
  }

  void find_input(const Tape& tape, int id) {
    const Node& node = tape[id];
    const auto which = static_cast<std::size_t>(node.attributes.integer[0]);
    Value& value = values_[index(id)];
    if (node.attributes.integer[1] == Input::sample) {
      if (which >= inputs_.size()) throw TapeError("an input of an eager tape is given with its values");
      value.storage = inputs_[which].storage;
      value.data = inputs_[which].data;
    } else if (node.attributes.integer[1] == Input::parameter) {
      if (parameters_ == nullptr) throw TapeError("a parameter is read on a tape that was given no parameters");
      value.data = parameters_ + (*offsets_)[which];
    } else if (scalars_ != nullptr) {
      value.data = scalars_ + which;
    } else if (weight_ != nullptr && id >= tape.first_adjoint) {
      value.data = weight_;
    } else {
      with_computed(node.dtype, [&](auto t) {
        using T = decltype(t);
        *create<T>(tape, id) = static_cast<T>(tape.scalars[which].at(0));
      });
    }
  }

  void share(const Tape& tape, int id) {
    dense(tape, tape[id].in[0]);
    const Value& source = values_[index(tape[id].in[0])];
    values_[index(id)].storage = source.storage;
    values_[index(id)].data = source.data;
  }

  static constexpr LoopTable<Ops> table{};
};

}  // namespace gradual::eager
