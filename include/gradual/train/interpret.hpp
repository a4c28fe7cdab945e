#pragma once
#include <span>
#include <vector>

#include <gradual/autodiff/reference.hpp>
#include <gradual/train/compiled.hpp>
#include <gradual/train/validate.hpp>

namespace gradual::detail {

/// Returns numbers of any type as doubles.
template <class Range>
std::vector<double> doubles_of(const Range& values) {
  std::vector<double> wide;
  for (const auto value : values) wide.push_back(static_cast<Computed<std::ranges::range_value_t<Range>>>(value));
  return wide;
}

/// Splits the values of all parameters by parameter. Errors: DataError, which begins with `what`, for another number of values.
template <class Net>
std::vector<std::vector<double>> values_of_each(const char* what, std::span<const typename Net::Real> parameters) {
  if (static_cast<std::int64_t>(parameters.size()) != Net::parameter_elements)
    refuse_parameters(what, Net::parameter_elements, parameters.size());
  std::vector<std::vector<double>> values;
  for (int p = 0; p < Net::parameter_count; ++p)
    values.push_back(doubles_of(parameters.subspan(static_cast<std::size_t>(Net::parameter_offset(p)),
                                                   static_cast<std::size_t>(Net::parameter(p).shape.unit()))));
  return values;
}

/// Returns all values of a tape of a net's training step, computed by the reference interpreter, each in its own type.
/// `parameters`: all of them, one after another; the tape must outlive the result. Errors: DataError, which begins with `what`,
/// for another number of parameters.
template <class Net, class... Data>
Reference<float, double> interpret(const char* what, const Tape& tape, std::span<const typename Net::Real> parameters,
                                   const Randomness& random, const Data&... data) {
  const std::int64_t batch = validate_inputs<typename Net::Training>(typename Net::InputTypes{}, std::span(data)...);
  return {tape, batch, {doubles_of(data)...}, values_of_each<Net>(what, parameters), {static_cast<double>(batch)}, random};
}

}  // namespace gradual::detail
