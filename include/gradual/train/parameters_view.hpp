#pragma once
#include <string>
#include <vector>

#include <gradual/autodiff/parameter_view.hpp>
#include <gradual/core/error.hpp>

namespace gradual {

/// The parameters of a net, by position or by name; a view, valid as long as what it was taken from.
template <class Net>
class ParametersView {
 public:
  explicit ParametersView(float* values) : values_(values) {}

  static constexpr int size() { return Net::parameter_count; }
  ParameterView operator[](int index) const {
    const ParameterInfo& info = Net::parameter(index);
    return {info.name.view(), info.shape,
            {values_ + Net::parameter_offset(index), static_cast<std::size_t>(info.shape.unit())}};
  }
  /// Errors: OptionError where there is no parameter of that name.
  ParameterView operator[](std::string_view name) const {
    for (int p = 0; p < size(); ++p)
      if (Net::parameter(p).name.view() == name) return (*this)[p];
    throw OptionError("no parameter is named '" + std::string(name) + "'");
  }
  /// All values, parameter after parameter.
  std::span<float> values() const { return {values_, static_cast<std::size_t>(Net::parameter_elements)}; }

 private:
  float* values_;
};

/// The parameters of a net whose own lie where the host cannot read them: a copy, used in the same way.
template <class Net>
class ParametersCopy : std::vector<float>, public ParametersView<Net> {
 public:
  explicit ParametersCopy(std::span<const float> values)
      : std::vector<float>(values.begin(), values.end()), ParametersView<Net>(data()) {}
  ParametersCopy(const ParametersCopy&) = delete;
  using ParametersView<Net>::operator[], ParametersView<Net>::size;
};

}  // namespace gradual
