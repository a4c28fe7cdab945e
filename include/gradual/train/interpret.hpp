#pragma once
#include <span>
#include <string>
#include <vector>

#include <gradual/autodiff/reference.hpp>
#include <gradual/train/compiled.hpp>
#include <gradual/train/validate.hpp>

namespace gradual::detail {

/// The values of each parameter, of all of them one after another. Errors: DataError, beginning with `what`, for another
/// number.
template <class Net, class T>
std::vector<std::vector<T>> values_of_each(const char* what, std::span<const typename Net::Real> parameters) {
  if (static_cast<std::int64_t>(parameters.size()) != Net::parameter_elements)
    refuse_parameters(what, Net::parameter_elements, parameters.size());
  std::vector<std::vector<T>> values;
  for (int p = 0; p < Net::parameter_count; ++p) {
    const auto* first = parameters.data() + Net::parameter_offset(p);
    values.emplace_back(first, first + Net::parameter(p).shape.unit());
  }
  return values;
}

/// All values of a tape of a net's training step, by the reference interpreter. `parameters`: all of them, one after
/// another; the tape must outlive the result. Errors: DataError, beginning with `what` for another number of parameters.
template <class Net, class... Data>
auto interpret(const char* what, const Tape& tape, std::span<const typename Net::Real> parameters, const Randomness& random,
               const Data&... data) {
  using Real = typename Net::Real;
  const std::int64_t batch = validate_inputs<typename Net::Training>(typename Net::InputTypes{}, std::span(data)...);
  return Reference<float, Real>(tape, batch, {std::vector<Real>(data.begin(), data.end())...},
                                values_of_each<Net, Real>(what, parameters), {static_cast<Real>(batch)}, random);
}

}  // namespace gradual::detail
