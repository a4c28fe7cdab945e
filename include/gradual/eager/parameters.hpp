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

/// What is known of a model's parameters whatever their values are held in.
class AnyParameters {
 public:
  AnyParameters& operator=(const AnyParameters&) = delete;  // a session may be of those that are there

  Scope root() { return Scope(held().declared); }
  const Device& device() const { return held().device; }
  const std::vector<ParameterInfo>& declared() const { return held().declared; }
  DType dtype() const { return held().dtype; }
  bool initialized() const { return !held().storage.empty(); }
  /// Errors: OptionError where they were moved from, as all that is asked of them then.
  void require() const {
    if (held_ == nullptr) [[unlikely]] refuse_moved();
  }
  /// Errors: TapeError where there are no values yet, or parameters were declared after others had been given theirs.
  void require_values() const;

  int size() const { return static_cast<int>(offsets().size()) - 1; }
  /// Index of each parameter's first element among all; the last one is the number of all elements.
  const std::vector<std::int64_t>& offsets() const { return held().offsets; }
  /// Where they lie on the device.
  void* data() const { return held().storage.data(); }

 protected:
  AnyParameters(const Device& device, DType dtype) : held_(std::make_unique<Held>(Held{device, dtype})) {}
  AnyParameters(AnyParameters&&) noexcept = default;
  ~AnyParameters() = default;

  void check_count(std::size_t count) const;
  void allocate();

  /// Errors: DeviceError where the host cannot read them where they lie.
  void require_readable() const;

 private:
  /// What layers and tapes point into: it stays where it is when the parameters are moved.
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
/// the order of their declaration. Models are constructed at `root()`; the values come to be with `initialize`. They may be
/// moved before sessions are made of them: models and tapes go on with where they are then. Errors: OptionError, of all that
/// is asked of those that were moved from and of sessions of them.
template <std::floating_point Real>
class ParametersIn : public AnyParameters {
  static_assert(std::is_same_v<Real, float> || std::is_same_v<Real, double>, "parameters are floats or doubles");

 public:
  explicit ParametersIn(const Device& device) : AnyParameters(device, dtype_of<Real>) {}

  /// Gives every parameter its initial values, keyed by (seed, parameter, element); they stay where they are from the
  /// first time on. Errors: ShapeError for sizes that cannot be counted, MemoryError; TapeError where parameters were
  /// declared since the first time.
  void initialize(std::uint64_t seed) {
    if (initialized()) require_values();
    else allocate();
    for (int p = 0; p < size(); ++p) {
      const ParameterInfo& info = declared()[static_cast<std::size_t>(p)];
      device().write(data() + offsets()[static_cast<std::size_t>(p)], info.shape.unit(),
                     [&](std::span<Real> values) { gradual::initialize(values, info.initializer, seed, p); });
    }
  }
  /// Errors: OptionError where there is no parameter at that position; TapeError before it has values; DeviceError as
  /// `values`.
  NamedValues<Real> operator[](int index) const {
    require_values();
    detail::check_position(index, size());
    const ParameterInfo& info = declared()[static_cast<std::size_t>(index)];
    return {info.name.view(), info.shape,
            values().subspan(static_cast<std::size_t>(offsets()[static_cast<std::size_t>(index)]),
                             static_cast<std::size_t>(info.shape.unit()))};
  }
  /// Errors: OptionError where there is no parameter of that name; TapeError before it has values; DeviceError as `values`.
  NamedValues<Real> operator[](std::string_view name) const {
    for (int p = 0; p < size(); ++p)
      if (declared()[static_cast<std::size_t>(p)].name.view() == name) return (*this)[p];
    require_values();
    detail::refuse_name(name, declared());
  }
  /// One after another: `for (auto [name, shape, values] : parameters)`.
  auto begin() const { return detail::ByPosition<ParametersIn>{this, 0}; }
  auto end() const { return detail::ByPosition<ParametersIn>{this, size()}; }
  /// All values, parameter after parameter. Errors: DeviceError where the host cannot read them where they lie.
  std::span<Real> values() const {
    require_readable();
    return {data(), static_cast<std::size_t>(offsets().back())};
  }
  /// Copies all values to host memory, or from there. Errors: ShapeError for another number of values.
  void copy_to(std::span<Real> to) const {
    check_count(to.size());
    device().read(to.data(), data(), static_cast<std::int64_t>(to.size_bytes()));
  }
  void copy_from(std::span<const Real> from) {
    check_count(from.size());
    device().copy(data(), from.data(), static_cast<std::int64_t>(from.size_bytes()));
  }
  /// Where they lie on the device.
  Real* data() const { return static_cast<Real*>(AnyParameters::data()); }
};

using Parameters = ParametersIn<float>;

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/eager/parameters.ipp>
#endif
