#pragma once
#include <iterator>
#include <type_traits>

#include <gradual/train/compiled.hpp>

namespace gradual {

namespace detail {

inline constexpr int kept_shares[] = {100, 85, 70, 60, 50, 45, 40, 35, 30, 26, 22, 18, 14, 10, 6};

template <std::int64_t Least, std::int64_t Budget>
constexpr bool budget_error() {
  static_assert(Least <= Budget,
                "no share of kept activations fits: the arguments of budget_error are the least bytes and the budget");
  return false;
}

template <class Net, class Optimizer, std::int64_t Batch, std::int64_t Bytes, std::size_t I, std::int64_t Least>
constexpr auto find_share() {
  if constexpr (I == std::size(kept_shares)) {
    static_assert(budget_error<Least, Bytes>());
    return std::type_identity<Net>{};
  } else {
    using Candidate = typename Net::template Keeping<kept_shares[I]>;
    constexpr Accumulate<RuleOf<Optimizer>, ShadowOf<Optimizer>> traced{};
    constexpr std::int64_t bytes = Candidate::training_memory(traced, Batch).total();
    if constexpr (bytes <= Bytes)
      return std::type_identity<Candidate>{};
    else
      return find_share<Net, Optimizer, Batch, Bytes, I + 1, (bytes < Least ? bytes : Least)>();
  }
}

}  // namespace detail

/// The net that recomputes as little as possible such that a session with this optimizer, in micro-batches of `Batch` samples
/// and with `OpenBlocks::as_needed`, needs at most `Bytes` bytes: `WithinBudget<Net, Accumulate<Adam>, 64, 256_KiB>`. Where
/// nothing fits, the compiler error names the least number of bytes.
template <class Net, class Optimizer, std::int64_t Batch, std::int64_t Bytes>
using WithinBudget = typename decltype(detail::find_share<Net, Optimizer, Batch, Bytes, 0, Budget::unlimited>())::type;

}  // namespace gradual
