// The inverse fourth roots in Shampoo's steps, and the steps themselves, against eigenvalues found by Jacobi rotations in
// long double.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include <gradual/autodiff/reference.hpp>
#include <gradual/optim/shampoo.hpp>
#include <gradual/optim/trace_update.hpp>

namespace inverse_roots_test {

using namespace gradual;

using Real = long double;
/// A matrix, row by row.
struct Matrix {
  std::size_t rows, columns;
  std::vector<Real> values = std::vector<Real>(rows * columns, 0);
  Real& operator()(std::size_t i, std::size_t j) { return values[i * columns + j]; }
  Real operator()(std::size_t i, std::size_t j) const { return values[i * columns + j]; }
};
Matrix transposed(const Matrix& a) {
  Matrix result{a.columns, a.rows};
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t j = 0; j < a.columns; ++j) result(j, i) = a(i, j);
  return result;
}
Matrix operator*(const Matrix& a, const Matrix& b) {
  Matrix result{a.rows, b.columns};
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t k = 0; k < a.columns; ++k)
      for (std::size_t j = 0; j < b.columns; ++j) result(i, j) += a(i, k) * b(k, j);
  return result;
}

/// Diagonalizes the symmetric matrix a in place. Returns a matrix whose rows are its eigenvectors.
Matrix diagonalize(Matrix& a) {
  const std::size_t n = a.rows;
  Matrix vectors{n, n};
  for (std::size_t i = 0; i < n; ++i) vectors(i, i) = 1;
  for (int sweep = 0; sweep < 9; ++sweep)
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t q = p + 1; q < n; ++q) {
        if (a(p, q) == 0) continue;
        const Real tau = (a(q, q) - a(p, p)) / (2 * a(p, q));
        const Real t = (tau < 0 ? -1 : 1) / (std::abs(tau) + std::sqrt(1 + tau * tau)), c = 1 / std::sqrt(1 + t * t), s = t * c;
        const auto rotate = [c, s](Real& x, Real& y) {
          const Real before = x;
          x = c * before - s * y, y = s * before + c * y;
        };
        for (std::size_t k = 0; k < n; ++k) rotate(a(k, p), a(k, q));
        for (std::size_t k = 0; k < n; ++k) rotate(a(p, k), a(q, k)), rotate(vectors(p, k), vectors(q, k));
      }
  return vectors;
}
/// Σ f(eigenvalue) vvᵀ over the eigenvectors v.
template <class F>
Matrix of_eigenvalues(Matrix a, F f) {
  const Matrix vectors = diagonalize(a);
  Matrix scaled = vectors;
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t j = 0; j < a.rows; ++j) scaled(i, j) *= f(a(i, i));
  return transposed(scaled) * vectors;
}
Real spectral_norm(const Matrix& a) {
  Matrix square = transposed(a) * a;
  diagonalize(square);
  Real largest = 0;
  for (std::size_t i = 0; i < square.rows; ++i) largest = std::max(largest, square(i, i));
  return std::sqrt(largest);
}
Real largest_row(const Matrix& a) {
  Real largest = 0;
  for (std::size_t i = 0; i < a.rows; ++i) {
    Real row = 0;
    for (std::size_t j = 0; j < a.columns; ++j) row += std::abs(a(i, j));
    largest = std::max(largest, row);
  }
  return largest;
}
Matrix inverse_root(const Matrix& a, Real damping) {
  const Real added = damping * largest_row(a);
  return of_eigenvalues(a, [added](Real x) { return 1 / std::sqrt(std::sqrt(x + added)); });
}

/// Returns the relative error of `inverse_fourth_root` in T, for a matrix that T holds exactly.
template <class T>
double error_of_root(const Matrix& a, double damping, const Matrix& exact) {
  Tape tape;
  const Shape shape{static_cast<std::int64_t>(a.rows), static_cast<std::int64_t>(a.rows)};
  const Var matrix = input(tape, shape, dtype_of<T>);
  const Var root = inverse_fourth_root(matrix, constant_like(sum(matrix, {0, 1}), damping));
  std::vector<T> values(a.values.begin(), a.values.end());
  const Reference<T> reference(tape, 1, {values}, {});
  const auto& got = reference[root.id];
  Matrix difference = exact;
  for (std::size_t i = 0; i < got.size(); ++i) difference.values[i] -= got[i];
  return static_cast<double>(spectral_norm(difference) / spectral_norm(exact));
}

/// Returns ggᵀ, rounded to float, for a random g of n rows and `columns` columns; the magnitudes of its rows fall from
/// `scale` toward `least * scale`.
Matrix sum_of_squares(std::size_t n, std::size_t columns, double least, double scale) {
  std::mt19937 random(static_cast<unsigned>(n + columns));
  std::normal_distribution<double> normal;
  Matrix g{n, columns};
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      g(i, j) = std::pow(least, static_cast<double>(i) / static_cast<double>(n)) * scale * normal(random);
  Matrix square = g * transposed(g);
  for (Real& x : square.values) x = static_cast<float>(x);
  return square;
}

TEST(InverseRoots, AreWithinTheirStatedError) {
  for (const double damping : {1e-5, 1e-4, 1e-2})
    for (const double scale : {1e-9, 1e9}) {
      const double in_float = 3e-6 + 1e-8 / damping;
      for (const std::size_t n : {1, 2, 5, 33})
        for (const Matrix& a : {sum_of_squares(n, 2 * n, 1, scale), sum_of_squares(n, 1, 1, scale),
                                sum_of_squares(n, (n + 4) / 5, 1, scale), sum_of_squares(n, n, 1e-4, scale)}) {
          const Matrix exact = inverse_root(a, damping);
          EXPECT_LT(error_of_root<double>(a, damping, exact), 3e-6) << n << ", " << damping;
          EXPECT_LT(error_of_root<float>(a, damping, exact), in_float) << n << ", " << damping;
        }
    }
  static_assert(detail::root_steps.count == 8 && detail::root_steps.least > 1 - 1e-5, "an error below (1 - least) / 4");
}

/// Returns the inverse fourth root, in float, of a 2 × 2 matrix with damping 10⁻⁴.
std::vector<float> small_root(const std::vector<float>& values) {
  Tape tape;
  const Var matrix = input(tape, Shape{2, 2}, DType::f32),
            root = inverse_fourth_root(matrix, constant_like(sum(matrix, {0, 1}), 1e-4));
  return Reference<float>(tape, 1, {values}, {})[root.id];
}

TEST(InverseRoots, OfWhatHasNoneAreShort) {
  for (const float x : small_root({0, 0, 0, 0})) EXPECT_TRUE(std::isfinite(x));
  for (const float negative : {-3e-4f, -1e-2f, -1.0f}) {
    const std::vector<float> root = small_root({16, 0, 0, 16 * negative});
    EXPECT_EQ(root[1], 0);
    EXPECT_EQ(root[2], 0);
    EXPECT_NEAR(root[0], 0.5, 1e-4);
    EXPECT_EQ(root[3], root[0]) << negative;
  }
}

/// Compares 30 steps of the recorded rule in double with the paper's formula, with roots from eigenvalues.
TEST(Shampoo, FollowsItsFormula) {
  using Rule = ShampooOf<5>;
  const Rule rule{.learning_rate = 0.05f, .damping = 1e-3f, .weight_decay = 0.02f};
  const ParameterInfo declared[] = {{"wide", Shape{2, 5}, {}}, {"vector", Shape{3}, {}}, {"tall", Shape{4, 2}, {}},
                                    {"long", Shape{6, 2}, {}}, {"number", Shape{}, {}}, {"cube", Shape{2, 1, 2}, {}}};
  const Tape tape = trace_update(rule, std::span(declared));
  std::vector<std::vector<double>> inputs(4);
  std::vector<Matrix> values, left, right;
  for (const ParameterInfo& parameter : declared) {
    const bool sides = parameter.shape.rank == 2 && parameter.shape.extent[0] <= 5;
    const std::size_t m = sides ? static_cast<std::size_t>(parameter.shape.extent[0]) : 1;
    const std::size_t n = static_cast<std::size_t>(parameter.shape.unit()) / m;
    Matrix value{m, n};
    for (std::size_t i = 0; i < m * n; ++i) value.values[i] = std::cos(Real(3 * i + 11 * values.size()));
    inputs.insert(inputs.end(), {{value.values.begin(), value.values.end()}, std::vector<double>(m * n),
                                 std::vector<double>(sides ? m * m : n), std::vector<double>(sides ? n * n : 0)});
    values.push_back(value), left.push_back({sides ? m : 1, sides ? m : n}), right.push_back({n, n});
  }
  const Real rate = rule.learning_rate.at(0), damping = rule.damping.at(0), decay = rule.weight_decay.at(0);
  for (int step = 1; step <= 30; ++step) {
    for (std::size_t p = 0; p < values.size(); ++p) {  // a quadratic of uneven curvature
      Matrix& value = values[p];
      Matrix g = value;
      for (std::size_t i = 0; i < g.values.size(); ++i) {
        inputs[4 * p + 5][i] = (1 + static_cast<double>(i % 5)) * (inputs[4 * p + 4][i] - 0.3);
        g.values[i] = Real(1 + i % 5) * (value.values[i] - Real(0.3)) + decay * value.values[i];
      }
      if (value.rows > 1) {
        const Matrix l = g * transposed(g), r = transposed(g) * g;
        for (std::size_t i = 0; i < l.values.size(); ++i) left[p].values[i] += l.values[i];
        for (std::size_t i = 0; i < r.values.size(); ++i) right[p].values[i] += r.values[i];
        g = inverse_root(left[p], damping) * g * inverse_root(right[p], damping);
      } else {
        for (std::size_t i = 0; i < g.values.size(); ++i) {
          left[p].values[i] += g.values[i] * g.values[i];
          g.values[i] /= std::sqrt(left[p].values[i]);
        }
      }
      for (std::size_t i = 0; i < g.values.size(); ++i) value.values[i] -= rate * g.values[i];
    }
    std::vector<double> scalars = {1.0, static_cast<double>(step)};
    for (std::size_t s = rule_scalars; s < tape.scalars.size(); ++s) scalars.push_back(tape.scalars[s].at(step - 1));
    const Reference<double> reference(tape, 1, inputs, {}, scalars);
    for (const Root& root : tape.roots) inputs[static_cast<std::size_t>(root.index)] = reference[root.node];
    for (std::size_t p = 0; p < values.size(); ++p)
      for (std::size_t i = 0; i < values[p].values.size(); ++i)
        ASSERT_NEAR(inputs[4 * p + 4][i], static_cast<double>(values[p].values[i]), 1e-6)
            << step << ", " << declared[p].name.view();
  }
}

}  // namespace inverse_roots_test
