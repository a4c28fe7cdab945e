#pragma once
#include <bit>

#include <gradual/autodiff/group_table.hpp>
#include <gradual/autodiff/loop_plan.hpp>

// Groups that compute the same from values in other places, such as the steps of a recurrent net, share their code.

namespace gradual {

/// The plan of group G of program P.
template <class P, int G>
inline constexpr auto loop_plan = plan_loop<P, G>();

/// The places of the values of a group: for each slot the node whose memory it reads, the element in it at which a view begins,
/// and the node that the slot computes.
template <int Slots>
struct LoopPlaces {
  int memory[Slots]{}, node[Slots]{};
  std::int64_t begin[Slots]{};
};
template <class P, int G>
inline constexpr auto loop_places = [] {
  LoopPlaces<loop_plan<P, G>.count> places;
  for (int s = 0; s < loop_plan<P, G>.count; ++s) {
    const Slot& slot = loop_plan<P, G>.slots[s];
    places.memory[s] = slot.memory;
    places.node[s] = slot.node;
    if (slot.source == Source::view) places.begin[s] = slot.offset;
  }
  return places;
}();

/// Everything that the code of a loop depends on, except the places of its slots. No slots: the group is not a loop.
struct LoopForm {
  const Slot* slots = nullptr;
  int count = 0, row_axes = 0;
  std::int64_t columns = 0;  ///< of a row; −1: the whole domain is one flat row
  Shape domain;
  bool row_reduces = false, batch_reduces = false;

  /// Returns the work for each sample, which decides whether threads pay: an op on an element costs a few multiply-adds.
  constexpr std::int64_t work() const { return 4 * domain.unit() * std::count_if(slots, slots + count, is_member); }
  /// A reduction over the batch can only be split by columns, which must be many and not reduced themselves.
  constexpr bool divisible() const { return !batch_reduces || (!row_reduces && columns >= 64); }

  constexpr bool operator==(const LoopForm& other) const {
    if (count != other.count || columns != other.columns || row_axes != other.row_axes || !(domain == other.domain) ||
        row_reduces != other.row_reduces || batch_reduces != other.batch_reduces)
      return false;
    for (int s = 0; s < count; ++s)
      if (!same_but_for_places(slots[s], other.slots[s])) return false;
    return true;
  }

 private:
  static constexpr bool same_but_for_places(Slot a, const Slot& b) {
    const bool same_number = std::bit_cast<std::uint64_t>(a.number) == std::bit_cast<std::uint64_t>(b.number);
    a.node = b.node;
    a.memory = b.memory;
    if (a.source == Source::view) a.offset = b.offset;
    return same_number && a == b;
  }
};

namespace detail {
template <class P>
struct MakeLoopForms {
  template <int G>
  struct Make {
    static constexpr LoopForm value = [] {
      LoopForm form;
      constexpr Group group = P::template group<G>;
      if constexpr (group.kind == Kind::map) {
        constexpr const auto& plan = loop_plan<P, G>;
        form = {plan.slots, plan.count, plan.row_axes, plan.columns, plan.domain, group.row_reduces, group.batch_reduces};
      }
      return form;
    }();
  };
};
}  // namespace detail

/// The forms of the loops of program P.
template <class P>
inline constexpr GroupTable<P, LoopForm, detail::MakeLoopForms<P>::template Make> loop_forms{};

/// For every group: the group whose code it runs, and whether others run that code too.
template <int Groups>
struct LoopCodes {
  AtLeastOne<int, Groups> code{};
  AtLeastOne<bool, Groups> shared{};
};

/// The codes of program P. Where few groups would share code, each has its own, which knows its places: looking them up takes a
/// few nanoseconds each time.
template <class P>
inline constexpr auto loop_codes = [] {
  constexpr int count = P::schedule.group_count, worth_sharing = 4;
  const auto& form = loop_forms<P>;
  LoopCodes<count> codes;
  AtLeastOne<int, count> first{}, times{}, kind{};
  int known = 0;
  for (int g = 0; g < count; ++g) {
    if (form[g].count == 0) continue;
    int& k = kind[g];
    while (k < known && !(form[first[k]] == form[g])) ++k;
    if (k == known) first[known++] = g;
    ++times[k];
  }
  for (int g = 0; g < count; ++g) {
    codes.shared[g] = form[g].count > 0 && times[kind[g]] >= worth_sharing;
    codes.code[g] = codes.shared[g] ? first[kind[g]] : g;
  }
  return codes;
}();

}  // namespace gradual
