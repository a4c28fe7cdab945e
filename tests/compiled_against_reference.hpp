#pragma once
// Trains a compiled net for a window and compares it with the reference.
#include <gtest/gtest.h>

#include <gradual/autodiff/reference.hpp>

#include "models.hpp"

namespace against_reference {

using namespace models;

inline constexpr std::int64_t samples = 300;  // two closed blocks of 128 and an open one

/// Changes nothing: only sums are compared, and an update rule would have to be compiled for each net.
template <class Real>
struct Idle {
  void step(std::span<const ParameterViewIn<Real>>, std::span<const GradientViewIn<Real>>) {}
};

/// Compares the sums and the loss of a window with those of the program `tape` for these parameters.
template <class Real>
void expect_reference(const Tape& tape, const std::vector<std::vector<Real>>& as_real,
                      const std::vector<std::vector<Real>>& parameters, std::span<const Real> sums, double loss) {
  using Bits = std::conditional_t<std::is_same_v<Real, float>, std::uint32_t, std::uint64_t>;
  const Reference<float, Real> reference(tape, samples, as_real, parameters, {Real{samples}}, {.on = true, .seed = 3});
  std::size_t at = 0;
  for (std::size_t p = 0; p < parameters.size(); ++p)
    for (const Real expected : reference.root(Role::gradient, static_cast<int>(p))) {
      ASSERT_LT(at, sums.size());
      const Real got = sums[at++];
      ASSERT_EQ(std::bit_cast<Bits>(expected), std::bit_cast<Bits>(got))
          << "sum " << at - 1 << ", of parameter " << p << ": " << expected << " against " << got;
    }
  EXPECT_EQ(at, sums.size());
  const std::vector<Real>& losses = reference.root(Role::loss);
  const bool weighted = find_root(tape.roots, Role::weight, 0) >= 0;
  double sum = 0, weight = 0;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const double w = weighted ? reference.root(Role::weight)[i] : 1;
    sum += w * static_cast<double>(losses[i]);
    weight += w;
  }
  EXPECT_EQ(loss, sum / weight);
}

/// `as_real`: the data in the form that the reference takes.
template <class Net, class... Span>
void expect_equal_bits(const std::vector<std::vector<typename Net::Real>>& as_real, Span... data) {
  using Real = typename Net::Real;
  Session session(Net{}, Accumulate{Idle<Real>{}}, {.global_batch = 10 * samples, .micro_batch = samples, .seed = 3});
  session.accumulate(data...);
  session.flush();  // closes the open blocks; the accumulator keeps the sums until the next window begins
  std::vector<std::vector<Real>> parameters;
  for (int p = 0; p < Net::parameter_count; ++p) {
    const auto values = session.parameters()[p].values;
    parameters.emplace_back(values.begin(), values.end());
  }
  expect_reference<Real>(thaw(Net::Training::graph), as_real, parameters, session.accumulator(), session.last_window().loss());
}

}  // namespace against_reference
