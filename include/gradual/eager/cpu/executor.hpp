#pragma once
#include <gradual/core/numerics_check.hpp>
#include <gradual/eager/cpu/sample_sum.hpp>
#include <gradual/eager/cpu/elementwise.hpp>
#include <gradual/eager/cpu/places.hpp>
#include <gradual/eager/cpu/products.hpp>
#include <gradual/eager/cpu/row_reduce.hpp>

namespace gradual::eager {

/// The executor on the processor: runs ops of the list `Ops` as vector code, others through their scalar functors. Views are
/// read where they are used, a chunk at a time.
template <class Ops>
class CpuExecutor final : public CpuValues {
 public:
  /// `pool`: threads that share larger work; null: this one alone.
  CpuExecutor(const Device& device, cpu::ThreadPool* pool) : CpuValues(device, pool) { check_numerics(); }

  void reserve(const Tape& tape, int sum, Shadow& shadow, std::int64_t begin, bool last) override {
    Executor::reserve(tape, sum, shadow, begin, last);
    with_real(tape[sum], [&](auto t) {
      using T = decltype(t);
      const CpuSampleSum<T> added(tape, sum);
      workspace<T>(added.workspace());
      rows<T>(added.widened());
    });
  }

 private:
  void compute(const Tape& tape, int id) override {
    const Node& node = tape[id];
    const Running running(*this, node);
    switch (node.op->kind) {
      case Kind::map: return with_computed(node.dtype, [&](auto t) { run_elementwise<decltype(t)>(*this, loops, tape, id); });
      case Kind::row_reduce:
        return with_computed(tape[node.in[0]].dtype, [&](auto t) { run_row_reduce<decltype(t)>(*this, loops, tape, id); });
      case Kind::pad: return with_computed(node.dtype, [&](auto t) { run_pad<decltype(t)>(*this, tape, id); });
      case Kind::random: return with_real(node, [&](auto t) { draw<decltype(t)>(*this, random_, tape, id); });
      case Kind::contract: return with_real(node, [&](auto t) { run_matmul<decltype(t)>(*this, tape, id); });
      case Kind::convolve: return with_real(node, [&](auto t) { run_convolution<decltype(t)>(*this, tape, id); });
      case Kind::gather: return with_real(node, [&](auto t) { run_gather<decltype(t)>(*this, tape, id); });
      case Kind::gather_own:
      case Kind::scatter_own: return with_real(node, [&](auto t) { run_own_rows<decltype(t)>(*this, tape, id); });
      case Kind::pool: return with_real(node, [&](auto t) { run_pool<decltype(t)>(*this, tape, id); });
      default: return;  // not computed here
    }
  }

  void compute_join(const Tape& tape, int id, const Join& join) override {
    const Running running(*this, tape[id]);
    with_computed(tape[id].dtype, [&](auto t) { run_join<decltype(t)>(*this, tape, id, join); });
  }

  void add_samples(const Tape& tape, int sum, const Shadow& shadow, std::int64_t begin, bool last) override {
    with_real(tape[sum], [&](auto t) { CpuSampleSum<decltype(t)>(tape, sum).add(*this, shadow, begin, last); });
  }
  void add_open_block(const Tape& tape, int sum, const Shadow& shadow) override {
    with_real(tape[sum], [&](auto t) { CpuSampleSum<decltype(t)>(tape, sum).close(*this, shadow); });
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

  static constexpr cpu::KnownLoops<Ops> loops{};
};

}  // namespace gradual::eager
