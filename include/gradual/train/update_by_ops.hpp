#pragma once
#include <vector>

#include <gradual/eager/replay.hpp>
#include <gradual/train/update_parts.hpp>

namespace gradual {

/// An update of numbers of Real run op by op over all elements, or over the parameters one by one.
template <class Real = float>
class UpdateByOps {
 public:
  /// `numbers`: its scalars, by slot; they must outlive this. Errors: MemoryError.
  template <class Ops>
  UpdateByOps(const Device& device, Tape update, const UpdateParts& parts, const Real* numbers, Ops ops)
      : parts_(parts), replay_(device, std::move(update), ops) {
    for (std::size_t i = 0; i < tape().inputs.size(); ++i) replay_.executor().bind_input(nullptr);
    replay_.executor().bind_scalars(numbers, dtype_of<Real>);
    results_.reserve(tape().roots.size());
  }

  /// `arrays`: where the parameters, their gradient and the states lie. Errors: MemoryError, before anything is changed.
  void run(Real* const* arrays) {
    struct Emptied {
      std::vector<eager::Storage>& results;
      ~Emptied() { results.clear(); }
    } const afterwards{results_};
    for (std::size_t i = 0; i < tape().inputs.size(); ++i)
      replay_.executor().rebind_input(i, parts_.place(arrays, static_cast<std::int64_t>(i)));
    replay_.run();
    for (std::size_t r = 0; r < tape().roots.size(); ++r) results_.push_back(replay_.root(r).storage());
    replay_.release();
    for (std::size_t r = 0; r < results_.size(); ++r) {
      const Root& root = tape().roots[r];
      const std::int64_t bytes = tape()[root.node].shape.unit() * std::int64_t{sizeof(Real)};
      replay_.executor().device().copy(parts_.place(arrays, root.index), results_[r].data(), bytes);
    }
  }

 private:
  const Tape& tape() const { return replay_.tape(); }

  UpdateParts parts_;
  eager::Replay replay_;
  std::vector<eager::Storage> results_;  ///< of each root, all computed before the first is written
};

}  // namespace gradual
