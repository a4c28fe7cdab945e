#pragma once
#include <gradual/core/config.hpp>

namespace gradual::cuda {

/// The form of a convolution or a pooling, known to a compiled program: indices are then divided by constants, which takes a
/// GPU a few instructions, while it has none for other divisions.
template <auto Form>
struct Fixed {
  GRADUAL_HD static constexpr auto get() { return Form; }
};
/// The same, known only when an eager kernel is launched.
template <class Form>
struct Given {
  Form form;
  GRADUAL_HD constexpr const Form& get() const { return form; }
};

}  // namespace gradual::cuda
