#pragma once
#include <gradual/autodiff/graph.hpp>
#include <gradual/autodiff/simplify.hpp>

namespace gradual {

/// Reports a model that could not be traced: the message is part of the type, which compilers print.
#if defined(__clang__)  // which prints arrays as numbers, and characters as such
template <char... text>
struct CharactersOfModelError {
  static_assert(sizeof...(text) == 0, "the model cannot be compiled: the reason is spelled by the characters of the class");
};
template <Message Text>
constexpr bool model_error() {
  return []<int... I>(std::integer_sequence<int, I...>) {
    return sizeof(CharactersOfModelError<Text.text[I]...>) == 0;
  }(std::make_integer_sequence<int, Text.length>{});
}
#else
template <Message Text>
constexpr bool model_error() {
  static_assert(Text.empty(), "the model cannot be compiled: the reason is the argument of model_error");
  return false;
}
#endif

namespace detail {

/// A tape as far as there is room: a constant's size must be known before what it holds, so only a larger tape has to be made
/// twice.
struct Recorded {
#if defined(__clang__) || defined(__CUDACC__)  // to which room that stays empty costs time or memory
  static constexpr Counts room{512, 64, 16, 64, 16};
#else
  static constexpr Counts room{4096, 512, 16, 512, 16};
#endif
  Message error;
  Counts counts;
  Graph<room> graph;

  Recorded() = default;
  constexpr explicit Recorded(const Tape& tape) : error(tape.error), counts(count(tape)), graph(freeze<room>(tape)) {}
};
template <class Trace>
constexpr Recorded record() {
  return Recorded(Trace::tape());
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
    [[maybe_unused]] constexpr Recorded recorded = record<Trace>();
  }
  return Recordable<Trace>;
}

/// The graph of `Trace::tape()`, simplified: the same for every program made from it.
template <class Trace>
struct SimplifiedTrace {
 private:
  static constexpr bool recordable = Recordable<Trace>;
  static_assert(recordable_or_why<Trace>(), "models and update rules must be constexpr, within the compiler's limits");
  static constexpr Recorded recorded = [] {
    if constexpr (recordable) return record<Trace>();
    else return Recorded{};
  }();
  static constexpr Message error = recorded.error;
  static_assert(error.empty() || model_error<error>());
  static constexpr Counts traced = recorded.counts;
  static constexpr auto traced_graph = [] {
    if constexpr (traced.within(Recorded::room)) return freeze<traced>(recorded.graph);
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
