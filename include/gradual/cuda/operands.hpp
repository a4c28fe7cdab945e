#pragma once
#include <gradual/core/convolution.hpp>
#include <gradual/core/dtype.hpp>
#include <gradual/cuda/form.hpp>
#include <gradual/cuda/simt.hpp>

namespace gradual::cuda {

// Operands of products: element (i, l) of one of a stack of matrices, where i is its row or column and l the step of its
// chains. `along_depth`: whether neighbours in memory are neighbours in l; otherwise they are in i. `extent`, for operands of
// convolutions: the number of i.

/// Neighbours in memory that are read or written at once.
template <class E, int Count>
struct alignas(Count * sizeof(E) < 16 ? Count * sizeof(E) : 16) Neighbours {
  E at[Count];
  GRADUAL_DEVICE static bool may_lie(const E* here) {
    return reinterpret_cast<std::uintptr_t>(here) % alignof(Neighbours) == 0;
  }
};

/// A matrix in memory.
template <class E>
struct Strided {
  using Element = E;
  const E* at = nullptr;
  std::int64_t side = 0, depth = 0, matrix = 0;  ///< strides along i and l, one of which is 1, and between matrices

  GRADUAL_DEVICE bool along_depth() const { return depth == 1; }
  GRADUAL_DEVICE E operator()(std::int64_t m, std::int64_t i, std::int64_t l) const { return *find(m, i, l); }
  /// Returns this element and the three after it in memory: `inside` of them are read, the others are `outside`.
  GRADUAL_DEVICE Neighbours<E, 4> four(std::int64_t m, std::int64_t i, std::int64_t l, int inside, E outside) const {
    const E* const from = find(m, i, l);
    Neighbours<E, 4> four;
    if (inside >= 4 && four.may_lie(from)) return *reinterpret_cast<const Neighbours<E, 4>*>(from);
    GRADUAL_UNROLL(4)
    for (int n = 0; n < 4; ++n) four.at[n] = n < inside ? from[n] : outside;
    return four;
  }

 private:
  GRADUAL_DEVICE const E* find(std::int64_t m, std::int64_t i, std::int64_t l) const {
    return at + (m * matrix + i * side + l * depth);
  }
};

/// Rows of several values, use after use in each sample: i is a column, l counts the positions of all uses, `Positions` each.
template <class E, int Uses, std::int64_t Positions>
struct RowsOfUses {
  using Element = E;
  const E* values[Uses];
  std::int64_t columns = 0;

  GRADUAL_DEVICE bool along_depth() const { return false; }
  GRADUAL_DEVICE E operator()(std::int64_t, std::int64_t i, std::int64_t l) const {
    const std::int64_t use = l / Positions;
    return values[use % Uses][(use / Uses * Positions + l % Positions) * columns + i];
  }
};

/// Weights of a convolution, a matrix for each group of each image: i is an output, l a tap.
template <class E, class Form = Given<Convolution>>
struct KernelWeights {
  using Element = E;
  const E* at = nullptr;
  Form form;

  constexpr std::int64_t extent() const { return form.get().outputs; }
  GRADUAL_DEVICE bool along_depth() const { return true; }
  GRADUAL_DEVICE E operator()(std::int64_t m, std::int64_t i, std::int64_t l) const {
    const auto& c = form.get();
    const std::int64_t group = c.groups == 1 ? 0 : m % c.groups;  // avoids a division, for which a GPU has no unit
    return at[group * c.weights() + c.weight(i, l)];
  }
};

/// Images of a convolution, a matrix for each group of each image: i is a position, l a tap.
template <class E, class Form = Given<Convolution>>
struct ImagesByPosition {
  using Element = E;
  const E* at = nullptr;
  Form form;

  constexpr std::int64_t extent() const { return form.get().positions(); }
  GRADUAL_DEVICE bool along_depth() const { return false; }
  GRADUAL_DEVICE E operator()(std::int64_t m, std::int64_t i, std::int64_t l) const {
    const auto& c = form.get();
    const std::int64_t pixel = c.pixel(i, l);
    return pixel < 0 ? E(0) : at[m * c.image() + pixel];
  }
};

/// Images of a window, a matrix for each group: i is a tap, l counts positions of all images.
template <class E, class Form = Given<Convolution>>
struct ImagesByTap {
  using Element = E;
  const E* at = nullptr;
  Form form;

  constexpr std::int64_t extent() const { return form.get().taps(); }
  GRADUAL_DEVICE bool along_depth() const { return true; }
  GRADUAL_DEVICE E operator()(std::int64_t m, std::int64_t i, std::int64_t l) const {
    const auto& c = form.get();
    const std::int64_t pixel = c.pixel(l % c.positions(), i);
    return pixel < 0 ? E(0) : at[(l / c.positions() * c.groups + m) * c.image() + pixel];
  }
};

/// Adjoints of a convolution's outputs, a matrix for each group: i is an output, l counts positions of all images.
template <class E, class Form = Given<Convolution>>
struct OutputAdjoints {
  using Element = E;
  const E* at = nullptr;
  Form form;

  constexpr std::int64_t extent() const { return form.get().outputs; }
  GRADUAL_DEVICE bool along_depth() const { return true; }
  GRADUAL_DEVICE E operator()(std::int64_t m, std::int64_t i, std::int64_t l) const {
    const auto& c = form.get();
    const std::int64_t group = l / c.positions() * c.groups + m;
    return at[group * c.result() + i * c.positions() + l % c.positions()];
  }
};

}  // namespace gradual::cuda
