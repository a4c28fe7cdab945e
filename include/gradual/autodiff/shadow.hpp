#pragma once
#include <type_traits>

#include <gradual/autodiff/op.hpp>
#include <gradual/core/compensated.hpp>

// The types that hold the sums of a window, to which blocks of floats are added: float, double or two numbers (Compensated).

namespace gradual {

namespace detail {

/// The type of a complete sum, and the name of the type that it was held in.
template <class S>
struct ShadowTraits;
template <>
struct ShadowTraits<float> {
  using Sum = float;
  static constexpr const char* name = "float";
};
template <>
struct ShadowTraits<double> {
  using Sum = double;
  static constexpr const char* name = "double";
};
template <class Part>
  requires(std::is_same_v<Part, float> || std::is_same_v<Part, bf16> || std::is_same_v<Part, f16>)
struct ShadowTraits<Compensated<Part>> {
  using Sum = typename Compensated<Part>::Value;
  static constexpr const char* name = std::is_same_v<Part, float>  ? "compensated"
                                      : std::is_same_v<Part, bf16> ? "compensated bf16"
                                                                   : "compensated f16";
};

}  // namespace detail

template <class S>
concept ShadowType = requires { detail::ShadowTraits<S>::name; };

/// Whether sums are held in two numbers each, from which one is made, in place, when the window ends.
template <class S>
inline constexpr bool is_compensated = !std::is_floating_point_v<S>;

/// The type that the rest of backward and the optimizer compute in once a window's sums are complete: it holds each exactly.
template <ShadowType S>
using SumOf = typename detail::ShadowTraits<S>::Sum;

template <ShadowType S>
inline constexpr const char* shadow_name = detail::ShadowTraits<S>::name;

namespace detail {

template <class P>
struct ShadowIn {
  using type = float;
};
template <class P>
  requires requires { typename P::Shadow; }
struct ShadowIn<P> {
  using type = typename P::Shadow;
};

}  // namespace detail

/// The type that node `Id` of program P is held in: `Block`, the type of its operands, or the program's type of sums if it is a
/// sum of floats over samples.
template <class P, int Id, class Block>
using AccumulatorOf = std::conditional_t<is_sample_sum(P::template node<Id>.op->kind) && std::is_same_v<Block, float>,
                                         typename detail::ShadowIn<P>::type, Block>;

}  // namespace gradual
