#pragma once
// Trains a compiled net for a window and compares it with the reference.
#include <gtest/gtest.h>

#include <gradual/autodiff/reference.hpp>

#include "models.hpp"

namespace against_reference {

using namespace models;

inline constexpr std::int64_t samples = 300;  // two closed blocks of 128 and an open one

/// `as_real`: the data as the reference takes it.
template <class Net, class... Span>
void expect_equal_bits(const std::vector<std::vector<typename Net::Real>>& as_real, Span... data) {
  using Real = typename Net::Real;
  using Bits = std::conditional_t<std::is_same_v<Real, float>, std::uint32_t, std::uint64_t>;
  Session session(Net{}, Accumulate{Sgd{.learning_rate = 0.1f, .momentum = 0.9f}},
                  {.global_batch = 10 * samples, .micro_batch = samples, .seed = 3});
  session.accumulate(data...);

  const Tape tape = thaw(Net::Training::graph);
  std::vector<std::vector<Real>> parameters;
  for (int p = 0; p < Net::parameter_count; ++p) {
    const auto values = session.parameters()[p].values;
    parameters.emplace_back(values.begin(), values.end());
  }
  const Reference<float, Real> reference(tape, samples, as_real, parameters, {Real{samples}}, {.on = true, .seed = 3});

  session.flush();  // closes the open blocks; the accumulator keeps the sums until the next window begins
  for (int p = 0; p < Net::parameter_count; ++p) {
    const std::vector<Real>& expected = reference.root(Role::gradient, p);
    const Real* got = session.accumulator().data() + Net::parameter_offset(p);
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_EQ(std::bit_cast<Bits>(expected[i]), std::bit_cast<Bits>(got[i]))
          << session.parameters()[p].name << "[" << i << "]: " << expected[i] << " against " << got[i];
  }
  double loss = 0, weight = 0;
  for (std::size_t i = 0; i < reference.root(Role::loss).size(); ++i) {
    const double w = Net::Training::root(Role::weight) < 0 ? 1 : reference.root(Role::weight)[i];
    loss += w * static_cast<double>(reference.root(Role::loss)[i]);
    weight += w;
  }
  EXPECT_EQ(session.last_window().loss(), loss / weight);
}

}  // namespace against_reference
