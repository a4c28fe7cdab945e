#pragma once
#include <gradual/core/convolution.hpp>
#include <gradual/core/dtype.hpp>
#include <gradual/cuda/simt.hpp>

namespace gradual::cuda {

// What a product reads: element (i, l) of one of a stack of matrices, i being its row or column and l the step of its
// chains, as the number that its type E is computed in. `along_depth` says whether neighbours in memory are neighbours in l.

/// A matrix in memory.
template <class E>
struct Strided {
  const E* at = nullptr;
  std::int64_t side = 0, depth = 0, matrix = 0;  ///< strides along i, along l, and from one matrix to the next

  GRADUAL_DEVICE bool along_depth() const { return depth == 1; }
  GRADUAL_DEVICE Computed<E> operator()(std::int64_t m, std::int64_t i, std::int64_t l) const {
    return static_cast<Computed<E>>(at[m * matrix + i * side + l * depth]);
  }
};

/// Rows of several values, in each sample use after use: i is a column, l counts positions of all uses, `Positions` of one.
template <class E, int Uses, std::int64_t Positions>
struct RowsOfUses {
  const E* values[Uses];
  std::int64_t columns = 0;

  GRADUAL_DEVICE bool along_depth() const { return false; }
  GRADUAL_DEVICE Computed<E> operator()(std::int64_t, std::int64_t i, std::int64_t l) const {
    const std::int64_t use = l / Positions;
    return static_cast<Computed<E>>(values[use % Uses][(use / Uses * Positions + l % Positions) * columns + i]);
  }
};

/// Weights of a convolution, a matrix for each group of each image: i is an output, l a tap.
template <class E>
struct KernelWeights {
  const E* at = nullptr;
  Convolution c;

  GRADUAL_DEVICE bool along_depth() const { return true; }
  GRADUAL_DEVICE Computed<E> operator()(std::int64_t m, std::int64_t i, std::int64_t l) const {
    const std::int64_t group = c.groups == 1 ? 0 : m % c.groups;  // without a division, which a GPU has no unit for
    return static_cast<Computed<E>>(at[group * c.weights() + c.weight(i, l)]);
  }
};

/// Images of a convolution, a matrix for each group of each: i is a position, l a tap.
template <class E>
struct ImagesByPosition {
  const E* at = nullptr;
  Convolution c;

  GRADUAL_DEVICE bool along_depth() const { return false; }
  GRADUAL_DEVICE Computed<E> operator()(std::int64_t m, std::int64_t i, std::int64_t l) const {
    const std::int64_t pixel = c.pixel(i, l);
    return pixel < 0 ? Computed<E>(0) : static_cast<Computed<E>>(at[m * c.image() + pixel]);
  }
};

/// Images of a window, a matrix for each group: i is a tap, l counts positions of all images.
template <class E>
struct ImagesByTap {
  const E* at = nullptr;
  Convolution c;

  GRADUAL_DEVICE bool along_depth() const { return true; }
  GRADUAL_DEVICE Computed<E> operator()(std::int64_t m, std::int64_t i, std::int64_t l) const {
    const std::int64_t pixel = c.pixel(l % c.positions(), i);
    return pixel < 0 ? Computed<E>(0)
                     : static_cast<Computed<E>>(at[(l / c.positions() * c.groups + m) * c.image() + pixel]);
  }
};

/// Adjoints of a convolution's outputs, a matrix for each group: i is an output, l counts positions of all images.
template <class E>
struct OutputAdjoints {
  const E* at = nullptr;
  Convolution c;

  GRADUAL_DEVICE bool along_depth() const { return true; }
  GRADUAL_DEVICE Computed<E> operator()(std::int64_t m, std::int64_t i, std::int64_t l) const {
    const std::int64_t group = l / c.positions() * c.groups + m;
    return static_cast<Computed<E>>(at[group * c.result() + i * c.positions() + l % c.positions()]);
  }
};

}  // namespace gradual::cuda
