#pragma once
#include <gradual/train/update_by_ops.hpp>

#include <utility>

namespace gradual {

template <class Real>
UpdateByOps<Real>::UpdateByOps(eager::Replay replay, const UpdateParts& parts, const Real* numbers)
    : parts_(parts), replay_(std::move(replay)) {
  for (std::size_t i = 0; i < tape().inputs.size(); ++i) replay_.executor().bindings().bind_input(nullptr);
  replay_.executor().bindings().bind_scalars(numbers, dtype_of<Real>);
  results_.reserve(tape().roots.size());
}

template <class Real>
void UpdateByOps<Real>::run(Real* const* arrays, const Randomness& random) {
  struct Emptied {
    std::vector<eager::Storage>& results;
    ~Emptied() { results.clear(); }
  } const afterwards{results_};
  for (std::size_t i = 0; i < tape().inputs.size(); ++i)
    replay_.executor().bindings().rebind_input(i, parts_.place(arrays, static_cast<std::int64_t>(i)));
  replay_.executor().bind_random(random);
  replay_.run();
  for (std::size_t r = 0; r < tape().roots.size(); ++r) results_.push_back(replay_.root(r).storage());
  replay_.release();
  for (std::size_t r = 0; r < results_.size(); ++r) {
    const Root& root = tape().roots[r];
    const std::int64_t bytes = tape()[root.node].shape.unit() * std::int64_t{sizeof(Real)};
    replay_.executor().device().copy(parts_.place(arrays, root.index), results_[r].data(), bytes);
  }
}

}  // namespace gradual
