#pragma once
// The functions that sessions call for the most common rules. `gradual::kernels` contains this code, so that sources linked to
// it need not compile it.
#include <gradual/autodiff/ops.hpp>
#include <gradual/optim/accumulate.hpp>
#include <gradual/optim/adam.hpp>
#include <gradual/optim/sgd.hpp>
#include <gradual/train/scalars_of_rule.hpp>
#include <gradual/train/session_core.hpp>
#include <gradual/train/update_numbers.hpp>

#ifndef GRADUAL_SHARED_RULE_CODE
#define GRADUAL_SHARED_RULE_CODE extern template
#endif

namespace gradual {

namespace detail {
using SharedArena = SessionArena<Cpu, float, float>;

// Specialised, so that finding these values does not instantiate code that the library already contains.
template <>
inline constexpr ElementProgram element_program<Adam, float>{.nodes = 48, .numbers = 4, .scalars = 7, .one_loop = true};
template <>
inline constexpr ElementProgram element_program<AdamW, float>{.nodes = 50, .numbers = 5, .scalars = 8, .one_loop = true};
template <>
inline constexpr ElementProgram element_program<Sgd, float>{.nodes = 35, .numbers = 2, .scalars = 8, .one_loop = true};
}  // namespace detail

#define GRADUAL_SHARED_RULE(Rule)                                                                                        \
  GRADUAL_SHARED_RULE_CODE struct detail::UpdateProgram<Cpu, Program<detail::ElementTrace<Rule, float>>>;                \
  GRADUAL_SHARED_RULE_CODE std::vector<Scalar> detail::scalars_of_rule<float, float>(const SessionTables&, const Rule&); \
  GRADUAL_SHARED_RULE_CODE detail::UpdateNumbers<float>::UpdateNumbers(const Rule&, const std::vector<Scalar>&);         \
  GRADUAL_SHARED_RULE_CODE detail::SessionCore<detail::SharedArena, detail::NoOpaque>::SessionCore(                      \
      const SessionTables&, const detail::SharedArena::Programs&, const Accumulate<Rule>&, const SessionOptions&);
GRADUAL_SHARED_RULE(Adam)
GRADUAL_SHARED_RULE(AdamW)
GRADUAL_SHARED_RULE(Sgd)
#undef GRADUAL_SHARED_RULE

}  // namespace gradual
