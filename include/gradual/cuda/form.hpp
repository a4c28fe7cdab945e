#pragma once
#include <gradual/core/config.hpp>

namespace gradual::cuda {

/// What a kernel goes through, as a compiled program knows it: indices are then divided by constants, for which a GPU needs a
/// few instructions, while it has none for other divisions.
template <auto Form>
struct Fixed {
  GRADUAL_HD static constexpr auto get() { return Form; }
};
/// The same as an eager one learns it.
template <class Form>
struct Given {
  Form form;
  GRADUAL_HD constexpr const Form& get() const { return form; }
};

}  // namespace gradual::cuda
