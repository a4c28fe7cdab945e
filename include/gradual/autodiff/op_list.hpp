#pragma once
#include <type_traits>
#include <utility>

#include <gradual/autodiff/tape.hpp>

namespace gradual {

template <class... Op>
struct OpList {
  static constexpr int size = sizeof...(Op);
  static constexpr const OpInfo* info[size > 0 ? size : 1] = {&op_info<Op>...};
};

/// Returns the index of an op in a list, or −1.
template <class... Op>
constexpr int index_in(OpList<Op...>, const OpInfo& info) {
  for (int i = 0; i < OpList<Op...>::size; ++i)
    if (OpList<Op...>::info[i]->id == info.id) return i;
  return -1;
}

namespace detail {
template <class... A, class... B>
OpList<A..., B...> join(OpList<A...>, OpList<B...>);
}  // namespace detail
template <class A, class B>
using Joined = decltype(detail::join(std::declval<A>(), std::declval<B>()));

/// Whether no other type among these ops has the id of one of them. g++ gives one name to `Op<a>` and `Op<b>` if a and b are
/// lambdas of one signature with named template parameters.
template <class One, class... Op>
inline constexpr bool has_own_id = ((op_info<One>.id != op_info<Op>.id || std::is_same_v<One, Op>) && ...);
template <class... Op>
constexpr bool have_own_ids(OpList<Op...>) {
  return (has_own_id<Op, Op...> && ...);
}

/// A model's or rule's own ops, which it names by `using Ops = OpList<...>;`; an adapter has those of its `inner`.
template <class T>
struct OwnOpsOf {
  using type = OpList<>;
};
template <class T>
concept NamesOps = requires { typename T::Ops; } && !std::is_same_v<typename T::Ops, T>;  // a model may be called Ops itself
template <NamesOps T>
struct OwnOpsOf<T> {
  using type = typename T::Ops;
  static_assert(have_own_ids(type()), "two ops of Ops have one name to the compiler: make them structs");
};
template <class T>
  requires(!NamesOps<T> && requires(T t) { t.inner; })
struct OwnOpsOf<T> : OwnOpsOf<decltype(T::inner)> {};

}  // namespace gradual
