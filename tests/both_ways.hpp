#pragma once
// Trains a net compiled and eagerly, in parts of any sizes, and returns its parameters, followed by the gradients and the
// loss of the last window.
#include "models.hpp"

namespace both_ways {

using namespace models;

inline constexpr std::int64_t window = 60, samples = 3 * window;
inline constexpr auto optimizer = Accumulate{Adam{.learning_rate = 1e-2f}};

/// The values of all samples, and the shape of one sample.
template <class T>
struct Samples {
  std::vector<T> values;
  Shape sample;
  std::span<const T> part(std::int64_t at, std::int64_t count) const {
    const auto unit = static_cast<std::size_t>(sample.unit());
    return std::span(values).subspan(static_cast<std::size_t>(at) * unit, static_cast<std::size_t>(count) * unit);
  }
};

/// Calls step(first sample, count) for parts whose sizes cycle through `sizes`.
template <class Step>
void for_parts(const std::vector<std::int64_t>& sizes, Step step) {
  std::int64_t at = 0;
  for (std::size_t k = 0; at < samples; ++k) {
    const std::int64_t count = std::min(sizes[k % sizes.size()], samples - at);
    step(at, count);
    at += count;
  }
}

template <class Real>
std::vector<Real> all_of(std::span<const Real> parameters, std::span<const Real> gradients, double loss) {
  std::vector<Real> result(parameters.begin(), parameters.end());
  result.insert(result.end(), gradients.begin(), gradients.end());
  result.push_back(static_cast<Real>(loss));
  return result;
}

template <class Net, class... T>
auto train_compiled(const std::vector<std::int64_t>& sizes, int threads, const Samples<T>&... data) {
  Session session(Net{}, optimizer, {.global_batch = window, .micro_batch = window, .threads = threads});
  for_parts(sizes, [&](std::int64_t at, std::int64_t count) { session.accumulate(data.part(at, count)...); });
  return all_of<typename Net::Real>(session.parameters().values(), session.accumulator(), session.last_window().loss());
}

template <class Model, class... T>
auto train_eager(const std::vector<std::int64_t>& sizes, const Samples<T>&... data) {
  using Real = typename gradual::detail::RealOf<Inputs<T...>>::type;
  ParametersIn<Real> parameters(Device::cpu());
  const Model net(parameters.root());
  Session session(parameters, optimizer, {.global_batch = window, .micro_batch = window});
  for_parts(sizes, [&](std::int64_t at, std::int64_t count) {
    session.accumulate(count, [&](EagerTape& tape) { return net.loss(tape.input(data.part(at, count), data.sample)...); });
  });
  return all_of<Real>(parameters.values(), session.last_gradient(), session.last_window().loss());
}

/// Expects equal parameters of a model that is compiled, in any micro-batches and on any threads, and eager.
template <class Model, class Net, class T>
void expect_same_both_ways(const Samples<T>& data, const Samples<std::int32_t>& classes) {
  const std::vector<float> whole = train_compiled<Net>({60}, 1, data, classes);
  EXPECT_EQ(whole, train_compiled<Net>({7, 1, 30, 22}, 2, data, classes));
  EXPECT_EQ(whole, train_eager<Model>({60}, data, classes));
  EXPECT_EQ(whole, train_eager<Model>({13, 21}, data, classes));
}

}  // namespace both_ways
