#pragma once
#include <concepts>
#include <memory>
#include <vector>

#include <gradual/autodiff/initialize.hpp>
#include <gradual/autodiff/named_values.hpp>
#include <gradual/autodiff/names_of_parameters.hpp>
#include <gradual/autodiff/scope.hpp>
#include <gradual/eager/tensor.hpp>

namespace gradual {

/// The part of a model's parameters that does not depend on their element type.
class AnyParameters {
 public:
  AnyParameters& operator=(const AnyParameters&) = delete;  // a session may refer to the old ones

  Scope root() { return Scope(held().declared); }
  const Device& device() const { return held().device; }
  const std::vector<ParameterInfo>& declared() const { return held().declared; }
  DType dtype() const { return held().dtype; }
  bool initialized() const { return !held().storage.empty(); }
  /// Errors: OptionError if they were moved from, as for all other calls then.
  void require() const {
    if (held_ == nullptr) [[unlikely]] refuse_moved();
  }
  /// Errors: TapeError if there are no values yet, or parameters were declared after the others got their values.
  void require_values() const;

  int size() const { return static_cast<int>(offsets().size()) - 1; }
  /// Returns the index of each parameter's first element among all; the last entry is the total number of elements.
  const std::vector<std::int64_t>& offsets() const { return held().offsets; }
  /// Returns their address on the device.
  void* data() const { return held().storage.data(); }

 protected:
  AnyParameters(const Device& device, DType dtype) : held_(std::make_unique<Held>(Held{device, dtype})) {}
  AnyParameters(AnyParameters&&) noexcept = default;
  ~AnyParameters() = default;

  void check_count(std::size_t count) const;
  void allocate();

  /// Errors: DeviceError if the host cannot read them in place.
  void require_readable() const;

 private:
  /// The data that layers and tapes point to: it stays in place when the parameters are moved.
  struct Held {
    Device device;
    DType dtype;
    std::vector<ParameterInfo> declared = {};
    std::vector<std::int64_t> offsets = {0};
    eager::Storage storage = {};
  };
  Held& held() const {
    require();
    return *held_;
  }
  [[noreturn, gnu::cold]] static void refuse_moved();

  std::unique_ptr<Held> held_;
};

/// The named parameters of a model whose sizes are known only at run time: floats or doubles, one parameter after another in
/// the order of declaration. Models are constructed at `root()`; `initialize` creates the values. They may be moved before
/// sessions are made of them: models and tapes follow them. Errors: OptionError from all calls on moved-from parameters and on
/// sessions of these.
template <std::floating_point Real>
class ParametersIn : public AnyParameters {
  static_assert(std::is_same_v<Real, float> || std::is_same_v<Real, double>, "parameters are floats or doubles");

 public:
  explicit ParametersIn(const Device& device) : AnyParameters(device, dtype_of<Real>) {}

  /// Sets every parameter to its initial values, keyed by (seed, parameter, element); their addresses stay the same after the
  /// first call. Errors: ShapeError for sizes that cannot be counted, MemoryError; TapeError if parameters were declared since
  /// the first call.
  void initialize(std::uint64_t seed) {
    if (initialized()) require_values();
    else allocate();
    for (int p = 0; p < size(); ++p) {
      const ParameterInfo& info = declared()[static_cast<std::size_t>(p)];
      device().write(data() + offsets()[static_cast<std::size_t>(p)], info.shape.unit(),
                     [&](std::span<Real> values) { gradual::initialize(values, info.initializer, seed, p); });
    }
  }
  /// Errors: OptionError if there is no parameter at that position; TapeError before it has values; DeviceError as for
  /// `values`.
  NamedValues<Real> operator[](int index) const {
    require_values();
    detail::check_position(index, size());
    const ParameterInfo& info = declared()[static_cast<std::size_t>(index)];
    return {info.name.view(), info.shape,
            values().subspan(static_cast<std::size_t>(offsets()[static_cast<std::size_t>(index)]),
                             static_cast<std::size_t>(info.shape.unit()))};
  }
  /// Errors: OptionError if there is no parameter of that name; TapeError before it has values; DeviceError as for `values`.
  NamedValues<Real> operator[](std::string_view name) const {
    for (int p = 0; p < size(); ++p)
      if (declared()[static_cast<std::size_t>(p)].name.view() == name) return (*this)[p];
    require_values();
    detail::refuse_name(name, declared());
  }
  /// Iterates over the parameters: `for (auto [name, shape, values] : parameters)`.
  auto begin() const { return detail::ByPosition<ParametersIn>{this, 0}; }
  auto end() const { return detail::ByPosition<ParametersIn>{this, size()}; }
  /// Returns all values, parameter after parameter. Errors: DeviceError if the host cannot read them in place.
  std::span<Real> values() const {
    require_readable();
    return {data(), static_cast<std::size_t>(offsets().back())};
  }
  /// Copies all values to or from host memory. Errors: ShapeError for another number of values.
  void copy_to(std::span<Real> to) const {
    check_count(to.size());
    device().read(to.data(), data(), static_cast<std::int64_t>(to.size_bytes()));
  }
  void copy_from(std::span<const Real> from) {
    check_count(from.size());
    device().copy(data(), from.data(), static_cast<std::int64_t>(from.size_bytes()));
  }
  /// Returns their address on the device.
  Real* data() const { return static_cast<Real*>(AnyParameters::data()); }
};

using Parameters = ParametersIn<float>;

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/eager/parameters.ipp>
#endif
