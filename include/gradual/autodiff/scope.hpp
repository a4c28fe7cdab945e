#pragma once
#include <vector>

#include <gradual/autodiff/parameter.hpp>

namespace gradual {

/// A place in the parameter tree. `scope / "hidden"` is the place of a layer, which declares its parameters there by name.
class Scope {
 public:
  /// `error`: receives the first mistake in constant evaluation, as with tapes.
  constexpr explicit Scope(std::vector<ParameterInfo>& declared, Message* error = nullptr)
      : declared_(&declared), error_(error) {}

  constexpr Scope operator/(std::string_view child) const {
    Scope inner = *this;
    if (!path_.empty()) inner.path_ << "/";
    inner.path_ << child;
    return inner;
  }
  /// The same for layers that are made in a loop: s / "layers" / 0.
  constexpr Scope operator/(int child) const {
    Message name;
    name << child;
    return *this / name.view();
  }

  /// Declares parameter `name` here. The order of declaration is the order in memory and in files. Errors: ShapeError for a
  /// name that is already declared, has more than 78 characters including its path, or has an empty part; for a shape without
  /// elements; and for an initializer that cannot draw, or whose zeros lie outside the shape.
  constexpr Parameter parameter(std::string_view name, const Shape& shape, Initializer initializer) const {
    ParameterInfo info{(*this / name).path_, shape, initializer};
    for (const char c : info.name.view()) info.name_hash = fnv(info.name_hash, static_cast<unsigned char>(c));
    check(info);
    declared_->push_back(info);
    return {static_cast<int>(declared_->size()) - 1, declared_};
  }

 private:
  constexpr void check(const ParameterInfo& info) const {
    Message wrong;
    if (info.name.full()) wrong << "a name of more than 78 characters";
    if (has_empty_part(info.name.view()) && wrong.empty()) wrong << "a name with an empty part";
    const ParameterInfo *const first = declared_->data(), *const end = first + declared_->size();
    for (const ParameterInfo* other = first; other != end; ++other)
      if (other->name_hash == info.name_hash && other->name == info.name && wrong.empty()) wrong << "declared twice";
    for (int i = 0; i < info.shape.rank; ++i)
      if (info.shape.extent[i] < 1 && wrong.empty()) wrong << "shape " << info.shape << " has an extent below 1";
    const Initializer& start = info.initializer;
    if (!start.draws() && wrong.empty()) wrong << "its initializer's scale is negative or not finite";
    if (start.zeros_begin != start.zeros_end && wrong.empty() &&
        (start.zeros_begin < 0 || start.zeros_end > info.shape.unit()))
      wrong << "shape " << info.shape << " lacks elements " << start.zeros_begin << " to " << start.zeros_end
            << ", which are to start at 0";
    if (wrong.empty()) return;
    const Message text = Message() << "parameter '" << info.name.view() << "': " << wrong.view();
    if (!std::is_constant_evaluated() || error_ == nullptr) throw ShapeError(text.string());
    if (error_->empty()) *error_ = text;
  }

  static constexpr bool has_empty_part(std::string_view name) {
    return name.empty() || name.front() == '/' || name.back() == '/' || name.find("//") != name.npos;
  }

  std::vector<ParameterInfo>* declared_;
  Message* error_;
  Name path_;
};

}  // namespace gradual
