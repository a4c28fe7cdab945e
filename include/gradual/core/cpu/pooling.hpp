#pragma once
#include <algorithm>
#include <type_traits>

#include <gradual/core/cpu/copy_row.hpp>
#include <gradual/core/cpu/met_outputs.hpp>
#include <gradual/core/cpu/part.hpp>
#include <gradual/core/pooling.hpp>

namespace gradual::cpu {

namespace detail {

/// Calls f(the pixel that output 0 would meet, columns) for each place of the windows of one row of outputs, row by row.
template <class F>
GRADUAL_INLINE void for_places(const Pooling& p, std::int64_t row, F f) {
  for (std::int64_t r = 0; r < p.y.kernel; ++r)
    if (const std::int64_t in = row * p.y.stride + r - p.y.before; in >= 0 && in < p.y.in)
      for (std::int64_t s = 0; s < p.x.kernel; ++s) {
        const MetOutputs columns(p.x, s, p.x.out);
        f(in * p.x.in + columns.shift, columns);
      }
}

}  // namespace detail

/// Windows of 2 × 2 that tile their planes: rows of outputs follow one another without a gap, so loops are long. Work on rows
/// is done in whole chunks; what is written beyond a row is overwritten by the next one.
class TilingPooling {
 public:
  static constexpr bool fits(const Pooling& p) { return tiles(p.y) && tiles(p.x); }
  static constexpr std::int64_t workspace(const Pooling& p) {
    return 2 * (p.y.in * p.x.out + chunk) + p.y.out * p.x.out + chunk;
  }

  explicit TilingPooling(const Pooling& p) : rows_(p.y.out), columns_(p.x.out), pairs_(p.y.in * p.x.out) {}

  template <class T>
  void largest(const T* x, T* y, T* wider) const {
    std::fill(wider + pairs_, wider + pairs_ + chunk, T(0));
    GRADUAL_IVDEP
    for (std::int64_t i = 0; i < pairs_; ++i) wider[i] = Pooling::larger(x[2 * i], x[2 * i + 1]);
    T* const most = wider + pairs_ + chunk;
    join(wider, most, [](T upper, T lower) __attribute__((always_inline)) { return Pooling::larger(upper, lower); });
    copy_row(most, rows_ * columns_, y);
  }

  template <class T>
  void spread(const T* g, const T* x, const T* y, T* dx, T* workspace) const {
    const std::int64_t windows = rows_ * columns_;
    T *const most = workspace, *const share = most + pairs_ + chunk;  // of the window of each pair of pixels
    T* const of_window = share + pairs_ + chunk;
    copy_row(y, windows, of_window);
    std::fill(of_window + windows, of_window + windows + chunk, T(0));
    repeat(of_window, most);
    std::fill(share + pairs_, share + pairs_ + chunk, T(0));
    GRADUAL_IVDEP
    for (std::int64_t i = 0; i < pairs_; ++i)
      share[i] = (x[2 * i] == most[i] ? T(1) : T(0)) + (x[2 * i + 1] == most[i] ? T(1) : T(0));
    join(share, of_window, [](T upper, T lower) __attribute__((always_inline)) { return upper + lower; });
    GRADUAL_IVDEP
    for (std::int64_t i = 0; i < windows; ++i) of_window[i] = g[i] / of_window[i];
    repeat(of_window, share);
    GRADUAL_IVDEP
    for (std::int64_t i = 0; i < pairs_; ++i) {
      dx[2 * i] = T(0) + (x[2 * i] == most[i] ? share[i] : T(0));
      dx[2 * i + 1] = T(0) + (x[2 * i + 1] == most[i] ? share[i] : T(0));
    }
  }

 private:
  static constexpr bool tiles(const ConvolutionAxis& a) {
    return a.kernel == 2 && a.stride == 2 && a.before == 0 && a.in == 2 * a.out;
  }

  /// Computes each row of windows from the two rows of pairs that it covers.
  template <class T, class F>
  GRADUAL_INLINE void join(const T* pairs, T* windows, F f) const {
    for (std::int64_t row = 0; row < rows_; ++row)
      for (std::int64_t o = 0; o < columns_; o += chunk)
        GRADUAL_IVDEP
        for (std::int64_t i = 0; i < chunk; ++i)
          windows[row * columns_ + o + i] = f(pairs[2 * row * columns_ + o + i], pairs[(2 * row + 1) * columns_ + o + i]);
  }
  /// Copies each row of windows to the two rows of pairs that it covers.
  template <class T>
  void repeat(const T* windows, T* pairs) const {
    for (std::int64_t row = 0; row < 2 * rows_; ++row)
      for (std::int64_t o = 0; o < columns_; o += chunk)
        GRADUAL_IVDEP
        for (std::int64_t i = 0; i < chunk; ++i) pairs[row * columns_ + o + i] = windows[row / 2 * columns_ + o + i];
  }

  static constexpr std::int64_t chunk = 16;
  std::int64_t rows_, columns_, pairs_;
};

/// Any other windows, a row of outputs at a time.
class AnyPooling {
 public:
  static constexpr std::int64_t workspace(const Pooling& p) { return p.x.out; }

  explicit AnyPooling(const Pooling& p) : p_(p) {}

  template <class T>
  void largest(const T* x, T* y, T*) const {
    std::fill(y, y + p_.positions(), -static_cast<T>(__builtin_huge_val()));
    for_rows(y, [&](auto stride, std::int64_t row, T* to) __attribute__((always_inline)) {
      detail::for_places(p_, row, [&](std::int64_t at, const MetOutputs& c) __attribute__((always_inline)) {
        GRADUAL_IVDEP
        for (std::int64_t o = c.first; o < c.last; ++o) to[o] = Pooling::larger(to[o], x[at + o * stride()]);
      });
    });
  }

  template <class T>
  void spread(const T* g, const T* x, const T* y, T* dx, T* share) const {
    std::fill(dx, dx + p_.pixels(), T(0));
    for_rows(y, [&](auto stride, std::int64_t row, const T* most) __attribute__((always_inline)) {
      std::fill(share, share + p_.x.out, T(0));
      detail::for_places(p_, row, [&](std::int64_t at, const MetOutputs& c) __attribute__((always_inline)) {
        GRADUAL_IVDEP
        for (std::int64_t o = c.first; o < c.last; ++o) share[o] += x[at + o * stride()] == most[o] ? T(1) : T(0);
      });
      for (std::int64_t o = 0; o < p_.x.out; ++o) share[o] = g[row * p_.x.out + o] / share[o];
      detail::for_places(p_, row, [&](std::int64_t at, const MetOutputs& c) __attribute__((always_inline)) {
        GRADUAL_IVDEP
        for (std::int64_t o = c.first; o < c.last; ++o)
          dx[at + o * stride()] += x[at + o * stride()] == most[o] ? share[o] : T(0);
      });
    });
  }

 private:
  /// Calls f(stride, row, its outputs) for every row of outputs; only constant strides are vectorised.
  template <class T, class F>
  GRADUAL_INLINE void for_rows(T* y, F f) const {
    const auto all = [&](auto stride) __attribute__((always_inline)) {
      for (std::int64_t row = 0; row < p_.y.out; ++row) f(stride, row, y + row * p_.x.out);
    };
    if (p_.x.stride == 1) all(std::integral_constant<std::int64_t, 1>{});
    else if (p_.x.stride == 2) all(std::integral_constant<std::int64_t, 2>{});
    else all([stride = p_.x.stride] { return stride; });
  }

  Pooling p_;
};

/// Calls f with the type of the way to pool.
template <class F>
constexpr decltype(auto) with_pooling(const Pooling& p, F f) {
  if (TilingPooling::fits(p)) return f(std::type_identity<TilingPooling>{});
  return f(std::type_identity<AnyPooling>{});
}

/// Returns the elements of workspace that poolings need.
constexpr std::int64_t pooling_workspace(const Pooling& p) {
  return with_pooling(p, [&](auto way) { return decltype(way)::type::workspace(p); });
}

/// y[plane, position] = the largest element of the window. Computes one part of the planes, as do the functions below.
template <class T>
[[gnu::noinline]] void max_pool(const Pooling& p, const T* x, T* y, std::int64_t planes, T* workspace, Part part = {}) {
  const Part::Range range = part.of(planes);
  with_pooling(p, [&](auto way) {
    const typename decltype(way)::type pooling(p);
    for (std::int64_t i = range.begin; i < range.end; ++i)
      pooling.largest(x + i * p.pixels(), y + i * p.positions(), workspace);
  });
}

/// dx[plane, pixel] = the pixel's share of g.
template <class T>
[[gnu::noinline]] void max_pool_spread(const Pooling& p, const T* g, const T* x, const T* y, T* dx, std::int64_t planes,
                                       T* workspace, Part part = {}) {
  const Part::Range range = part.of(planes);
  with_pooling(p, [&](auto way) {
    const typename decltype(way)::type pooling(p);
    for (std::int64_t i = range.begin; i < range.end; ++i)
      pooling.spread(g + i * p.positions(), x + i * p.pixels(), y + i * p.positions(), dx + i * p.pixels(), workspace);
  });
}

/// out[plane, position] = the mean of h over the window's largest elements: needed for second derivatives only.
template <class T>
[[gnu::noinline]] void max_pool_gather(const Pooling& p, const T* h, const T* x, const T* y, T* out, std::int64_t planes,
                                       Part part = {}) {
  const auto [first, last] = part.of(planes);
  for (std::int64_t i = first; i < last; ++i)
    for (std::int64_t o = 0; o < p.positions(); ++o)
      out[i * p.positions() + o] = p.gathered(x + i * p.pixels(), y + i * p.positions(), h + i * p.pixels(), o);
}

}  // namespace gradual::cpu
