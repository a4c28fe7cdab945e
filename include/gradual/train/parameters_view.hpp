#pragma once
#include <string_view>
#include <vector>

#include <gradual/autodiff/names_of_parameters.hpp>
#include <gradual/autodiff/named_values.hpp>

namespace gradual {

/// The parameters of a net, by position or by name: a view, valid as long as its source.
template <class Net>
class ParametersView {
  using Real = typename Net::Real;

 public:
  explicit ParametersView(Real* values) : values_(values) {}

  static constexpr int size() { return Net::parameter_count; }
  /// Errors: OptionError where there is no parameter at that position.
  NamedValues<Real> operator[](int index) const {
    detail::check_position(index, size());
    const ParameterInfo& info = Net::parameter(index);
    return {info.name.view(), info.shape,
            {values_ + Net::parameter_offset(index), static_cast<std::size_t>(info.shape.unit())}};
  }
  /// Errors: OptionError where there is no parameter of that name.
  NamedValues<Real> operator[](std::string_view name) const {
    for (int p = 0; p < size(); ++p)
      if (Net::parameter(p).name.view() == name) return (*this)[p];
    detail::refuse_name(name, Net::declared());
  }
  /// Iterate over the parameters: `for (auto [name, shape, values] : parameters)`.
  auto begin() const { return detail::ByPosition<ParametersView>{this, 0}; }
  auto end() const { return detail::ByPosition<ParametersView>{this, size()}; }
  /// Returns all values, one parameter after another.
  std::span<Real> values() const { return {values_, static_cast<std::size_t>(Net::parameter_elements)}; }
  operator std::span<const Real>() const { return values(); }

 private:
  Real* values_;
};

/// A parameter that owns its values.
template <class Real>
struct ParameterCopy {
  std::string_view name;
  Shape shape;
  std::vector<Real> values;
};

/// A copy of a net's parameters that the host cannot read in place, used in the same way. Views of it are valid only while it
/// lives, so a temporary returns copies.
template <class Net>
class ParametersCopy {
  using Real = typename Net::Real;
  using View = NamedValues<Real>;
  using Copy = ParameterCopy<Real>;

 public:
  explicit ParametersCopy(std::span<const Real> values) : copy_(values.begin(), values.end()), view_(copy_.data()) {}
  ParametersCopy(const ParametersCopy&) = delete;

  static constexpr int size() { return Net::parameter_count; }
  View operator[](int index) const& { return view_[index]; }
  View operator[](std::string_view name) const& { return view_[name]; }
  auto begin() const& { return view_.begin(); }
  auto end() const& { return view_.end(); }
  Copy operator[](int index) const&& { return copy_of(view_[index]); }
  Copy operator[](std::string_view name) const&& { return copy_of(view_[name]); }
  std::span<const Real> values() const& { return copy_; }
  std::vector<Real> values() const&& { return copy_; }
  /// May also be taken of a temporary: for the call that it is passed to.
  operator std::span<const Real>() const { return copy_; }
  operator ParametersView<Net>() const& { return view_; }
  operator ParametersView<Net>() const&& = delete;

 private:
  static Copy copy_of(const View& view) {
    return {view.name, view.shape, {view.values.begin(), view.values.end()}};
  }

  std::vector<Real> copy_;
  ParametersView<Net> view_;
};

}  // namespace gradual
