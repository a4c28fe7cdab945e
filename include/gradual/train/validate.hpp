#pragma once
#include <algorithm>
#include <atomic>
#include <span>
#include <string>

#include <gradual/autodiff/trace.hpp>
#include <gradual/core/error.hpp>
#include <gradual/core/math/all_finite.hpp>
#include <gradual/core/memory_parts.hpp>

namespace gradual {

namespace detail {

[[noreturn, gnu::cold]] void refuse_number(int input, std::size_t place, std::int64_t width, float value);
[[noreturn, gnu::cold]] void refuse_weight(int input, std::size_t place, std::int64_t width, double weight);
[[noreturn, gnu::cold]] void refuse_label(int input, std::size_t place, std::int64_t width, std::int64_t label,
                                          const LabelRange& among);

/// Refuses an input that does not hold whole samples, or not as many as the first.
[[noreturn, gnu::cold]] void refuse_size(std::size_t input, std::int64_t values, std::int64_t width, std::int64_t first_values,
                                         std::int64_t first_width);
/// Refuses `given` values where one is needed for each of a net's parameters.
[[noreturn, gnu::cold]] void refuse_parameters(const char* by, std::int64_t parameters, std::size_t given);
[[noreturn, gnu::cold]] void refuse_gradients(std::int64_t parameters, std::size_t given, double weight);
/// Refuses a state that an optimizer with so many does not have.
[[noreturn, gnu::cold]] void refuse_state(int index, int states);

/// As `math::all_finite`, but with several threads for data that a GPU consumes faster than one thread can check them.
template <class T>
bool all_finite_in_parts(std::span<const T> data) {
  std::atomic<bool> finite = true;
  for_memory_parts(static_cast<std::int64_t>(data.size_bytes()), [&](std::int64_t begin, std::int64_t end) {
    const auto first = static_cast<std::size_t>(begin) / sizeof(T), last = static_cast<std::size_t>(end) / sizeof(T);
    if (!math::all_finite(data.subspan(first, last - first))) finite = false;
  });
  return finite;
}

/// `ranges`: those of all inputs. `before`: number of samples of the batch that precede these.
template <class T>
void validate_values(std::span<const T> data, std::span<const LabelRange> ranges, std::int64_t width, int index,
                     std::int64_t before = 0, bool in_parts = false) {
  const std::size_t first = static_cast<std::size_t>(before * width);
  if constexpr (std::is_same_v<T, std::uint8_t>) return;
  else if constexpr (!std::is_same_v<T, std::int32_t>) {
    if (in_parts ? all_finite_in_parts(data) : math::all_finite(data)) return;
    for (std::size_t i = 0; i < data.size(); ++i)
      if (!math::is_finite(data[i])) refuse_number(index, first + i, width, static_cast<float>(data[i]));
  } else {
    for (const LabelRange& range : ranges) {
      if (range.input != index) continue;
      const std::size_t count = range.is_whole() ? data.size() : static_cast<std::size_t>(range.count);
      for (std::size_t begin = static_cast<std::size_t>(range.begin); begin < data.size();
           begin += range.is_whole() ? count : static_cast<std::size_t>(range.period))
        for (std::size_t i = begin; i < begin + count; ++i)
          if (!range.accepts(data[i])) refuse_label(index, first + i, width, data[i], range);
    }
  }
}

/// Validates data that a queue can read and found invalid, one part at a time, to name the value.
template <class T, class Queue>
void validate_fetched(const Queue& queue, std::span<const T> data, std::span<const LabelRange> ranges,
                      std::int64_t width, int index) {
  const std::int64_t samples = std::ssize(data) / width, part = std::max<std::int64_t>(1, (1 << 20) / width);
  for (std::int64_t first = 0; first < samples; first += part) {
    const std::int64_t count = std::min(part, samples - first) * width;
    const auto values = queue.view(data.data() + first * width, count);
    validate_values(std::span<const T>(values), ranges, width, index, first);
  }
}

}  // namespace detail

/// Returns the number of samples in inputs of types T. Errors: DataError naming the input.
template <class... T>
std::int64_t count_samples(std::span<const std::remove_all_extents_t<T>>... data) {
  const std::int64_t widths[] = {detail::sample_shape<T>().unit()...};
  const std::int64_t sizes[] = {static_cast<std::int64_t>(data.size())...};
  const std::int64_t count = sizes[0] / widths[0];
  for (std::size_t i = 0; i < sizeof...(T); ++i)
    if (sizes[i] != count * widths[i]) detail::refuse_size(i, sizes[i], widths[i], sizes[0], widths[0]);
  if (count == 0) throw DataError("a batch of 0 samples");
  return count;
}
/// Checks each value of the inputs of program P. Errors: DataError naming the input and the sample.
template <class P, class... T>
void validate_samples(std::span<const std::remove_all_extents_t<T>>... data) {
  int index = 0;
  ((detail::validate_values(data, P::graph.label_ranges, detail::sample_shape<T>().unit(), index), ++index), ...);
}
/// Does the same for a device's queue, which checks data in the device's own memory; several threads check the rest, where it
/// is much. Errors: also DataError for samples on another device.
template <class P, class... T, class Queue>
void validate_samples_for(const Queue& queue, std::span<const std::remove_all_extents_t<T>>... data) {
  const auto for_inputs = [&](auto f) {
    int index = 0;
    (f(data, index++, detail::sample_shape<T>().unit()), ...);
  };
  bool any_there = false;
  const auto finish = [&] {
    if (!any_there || queue.all_fit()) return;
    for_inputs([&](auto values, int index, std::int64_t width) {
      if (queue.holds(values.data())) detail::validate_fetched(queue, values, P::graph.label_ranges, width, index);
    });
  };
  try {
    for_inputs([&](auto values, int index, std::int64_t width) {
      if (!queue.holds(values.data())) return detail::validate_values(values, P::graph.label_ranges, width, index, 0, true);
      queue.look_at(values, P::graph.label_ranges, index);
      any_there = true;
    });
  } catch (...) {
    finish();  // no check may go on reading memory that the caller can now free
    throw;
  }
  finish();
}

/// Validates only samples `rows` of a data set. Errors: as `validate_samples`; DataError for rows not in it.
/// `Indices`: checks only labels and indices, which address memory, of a data set that was validated but may have changed.
/// `reads(values)`: whether the host can read them; others are assumed valid.
template <class P, bool Indices, class... T, class Reads>
void validate_rows(std::span<const std::int32_t> rows, Reads reads, std::span<const std::remove_all_extents_t<T>>... data) {
  if constexpr (Indices && (!std::is_same_v<std::remove_all_extents_t<T>, std::int32_t> && ...)) return;
  const std::int64_t samples = std::min({std::ssize(data) / detail::sample_shape<T>().unit()...});
  const bool looks[] = {reads(data.data())...};
  for (const std::int32_t row : rows) {
    if (row < 0 || row >= samples)
      throw DataError("accumulate_rows: row " + std::to_string(row) + " of " + std::to_string(samples) + " samples");
    int index = 0;
    const auto check = [&]<class E>(std::span<const E> values, std::int64_t width) {
      const auto sample = values.subspan(static_cast<std::size_t>(row * width), static_cast<std::size_t>(width));
      if constexpr (!Indices || std::is_same_v<E, std::int32_t>)
        if (looks[index]) detail::validate_values(sample, P::graph.label_ranges, width, index, row);
      ++index;
    };
    (check(data, detail::sample_shape<T>().unit()), ...);
  }
}

/// Returns the input that is, unmodified, the weight of a training program's loss; −1 where there is none or it is computed.
template <class P>
constexpr int weight_input() {
  constexpr int root = P::root(Role::weight);
  if constexpr (root >= 0) {
    const Node& node = P::graph.nodes[root];
    if (is_input(node, Input::sample)) return static_cast<int>(node.attributes.integer[0]);
  }
  return -1;
}
/// Checks the weights of a mean, `width` per sample, preceded by `before` samples. Errors: DataError naming the input and the
/// sample where one is below 0.
template <class T>
void validate_weights(std::span<const T> weights, int input, std::int64_t width, std::int64_t before = 0) {
  const std::size_t first = static_cast<std::size_t>(before * width);
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (weights[i] < 0) detail::refuse_weight(input, first + i, width, static_cast<double>(weights[i]));
}

/// Counts samples and validates them.
template <class P, class... T, class... Span>
std::int64_t validate_inputs(Inputs<T...>, Span... data) {
  const std::int64_t count = count_samples<T...>(data...);
  validate_samples<P, T...>(data...);
  return count;
}

/// Does the same for a backend's queue.
template <class Backend, class P, class... T, class... Span>
std::int64_t validate_for(const typename Backend::Queue& queue, Inputs<T...>, Span... data) {
  const std::int64_t count = count_samples<T...>(data...);
  if constexpr (Backend::shares_host_memory) validate_samples<P, T...>(data...);
  else validate_samples_for<P, T...>(queue, data...);
  return count;
}

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/train/validate.ipp>
#endif
