#pragma once
#include <gradual/autodiff/graph.hpp>
#include <gradual/autodiff/model_error.hpp>
#include <gradual/autodiff/simplify.hpp>

namespace gradual {

namespace detail {

/// A tape as far as there is room: a constant's size must be known before what it holds, so only a larger tape has to be made
/// twice.
struct TapeInRoom {
#if defined(__clang__) || defined(__CUDACC__)  // for which empty room costs time or memory
  static constexpr Counts room{512, 64, 16, 64, 16};
#else
  static constexpr Counts room{4096, 512, 16, 512, 16};
#endif
  Message error;
  Counts counts;
  Graph<room> graph;

  constexpr TapeInRoom() = default;
  constexpr explicit TapeInRoom(const Tape& tape) : error(tape.error), counts(count(tape)), graph(freeze<room>(tape)) {}
};
template <class Trace>
constexpr TapeInRoom record() {
  return TapeInRoom(Trace::tape());
}
template <int>
struct Known {};
/// Whether the compiler can record a trace.
template <class Trace>
concept Recordable = requires { typename Known<record<Trace>().counts.nodes>; };
/// Whether a trace is recordable; if not, makes the compiler say why, once.
template <class Trace>
constexpr bool recordable_or_why() {
  if constexpr (!Recordable<Trace>) {
    [[maybe_unused]] constexpr TapeInRoom recorded = record<Trace>();
  }
  return Recordable<Trace>;
}

/// The graph of `Trace::tape()`, simplified: the same for every program made from it.
template <class Trace>
struct SimplifiedTrace {
 private:
  static constexpr bool recordable = Recordable<Trace>;
  static_assert(recordable_or_why<Trace>(), "models and rules must be constexpr within the compiler's limits: see first error");
  static constexpr TapeInRoom recorded = [] {
    if constexpr (recordable) return record<Trace>();
    else return TapeInRoom{};
  }();
  static constexpr Message error = recorded.error;
  static_assert(error.empty() || model_error<error>());
  static constexpr Counts traced = recorded.counts;
  static constexpr auto traced_graph = [] {
    if constexpr (traced.within(TapeInRoom::room)) return freeze<traced>(recorded.graph);
    else return freeze<traced>(Trace::tape());
  }();
  // Simplified into a graph of the traced size: how much smaller it gets is not known before.
  struct Simplified {
    Counts counts;
    Graph<traced> graph;
  };
  static constexpr Simplified simplified = [] {
    const Tape tape = simplify(thaw(traced_graph));
    return Simplified{count(tape), freeze<traced>(tape)};
  }();

 public:
  static constexpr auto graph = freeze<simplified.counts>(simplified.graph);
};

}  // namespace detail

}  // namespace gradual
