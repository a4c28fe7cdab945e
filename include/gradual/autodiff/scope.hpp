#pragma once
#include <vector>

#include <gradual/autodiff/ops/convert.hpp>
#include <gradual/autodiff/ops/input.hpp>

namespace gradual {

/// A declared parameter; becomes a value where it is read on a tape.
struct Parameter {
  int index = -1;
  const std::vector<ParameterInfo>* declared = nullptr;  ///< among these

  /// The parameter's value on the tape of `x`: in float or, where x has 16 bits, rounded to x's type. Errors: TapeError
  /// where that tape has the values of another model.
  constexpr Var on(Var x) const {
    if (!x.valid()) return {};
    if (x.tape->declared != nullptr && x.tape->declared != declared)
      return x.tape->fail<TapeError>(Message() << "parameter " << index << " is of another model than the tape's");
    const Var value = parameter(*x.tape, index);
    return is_small(x.dtype()) ? convert(value, x.dtype()) : value;
  }
};

/// A place in the parameter tree. `scope / "hidden"` is the place of a layer; parameters are declared by name.
class Scope {
 public:
  constexpr explicit Scope(std::vector<ParameterInfo>& declared) : declared_(&declared) {}

  constexpr Scope operator/(std::string_view child) const {
    Scope inner = *this;
    if (!path_.empty()) inner.path_ << "/";
    inner.path_ << child;
    return inner;
  }

  /// Declares parameter `name` here. Order of declaration is the order in memory and in files.
  constexpr Parameter parameter(std::string_view name, const Shape& shape, Initializer initializer) const {
    ParameterInfo info{(*this / name).path_, shape, initializer};
    bool accepted = !info.name.full();
    for (const ParameterInfo& other : *declared_) accepted = accepted && !(other.name == info.name);
    if (!accepted) throw ShapeError("parameter '" + info.name.string() + "': declared twice, or over 79 characters");
    declared_->push_back(info);
    return {static_cast<int>(declared_->size()) - 1, declared_};
  }

 private:
  std::vector<ParameterInfo>* declared_;
  Name path_;
};

}  // namespace gradual
