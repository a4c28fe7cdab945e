#pragma once
// The training step that someone who knows the sizes would write by hand: relu layers, cross entropy, Adam; widths padded
// to whole vectors, outputs in register tiles, sums in whatever order is fastest.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

namespace handwritten {

using Vector = float __attribute__((vector_size(64), aligned(4)));
constexpr int lanes = 16;
constexpr int padded(int n) { return (n + lanes - 1) / lanes * lanes; }

/// Computes c[m×n] = Σ over k of a(i, k)·b(k, j); a(i, k) is a[i·row + k·step], b and c have rows of n, a multiple of `lanes`.
inline void product(const float* a, int row, int step, const float* b, float* c, int m, int n, int k) {
  const auto tile = [&]<int R, int V>(int i, int j) {
    Vector sum[R][V]{};
    for (int l = 0; l < k; ++l)
      for (int r = 0; r < R; ++r)
        for (int v = 0; v < V; ++v)
          sum[r][v] += a[(i + r) * row + l * step] * *reinterpret_cast<const Vector*>(b + l * n + j + v * lanes);
    for (int r = 0; r < R; ++r)
      for (int v = 0; v < V; ++v) *reinterpret_cast<Vector*>(c + (i + r) * n + j + v * lanes) = sum[r][v];
  };
  for (int j = 0; j < n;) {
    const bool two = j + 2 * lanes <= n;
    int i = 0;
    for (; i + 8 <= m; i += 8) two ? tile.template operator()<8, 2>(i, j) : tile.template operator()<8, 1>(i, j);
    for (; i < m; ++i) two ? tile.template operator()<1, 2>(i, j) : tile.template operator()<1, 1>(i, j);
    j += two ? 2 * lanes : lanes;
  }
}

template <int... Width>
class Step {
 public:
  static constexpr int layers = sizeof...(Width) - 1, width[] = {Width...};

  explicit Step(int batch) : batch_(batch) {
    for (int l = 0; l <= layers; ++l) x_[l].resize(static_cast<std::size_t>(batch * stride(l)));
    for (int l = 0; l < layers; ++l) {
      const auto rows = static_cast<std::size_t>(padded(width[l])), columns = static_cast<std::size_t>(padded(width[l + 1]));
      for (auto* v : {&w_[l], &dw_[l], &mw_[l], &vw_[l], &transposed_[l]}) v->resize(rows * columns);
      for (auto* v : {&b_[l], &db_[l], &mb_[l], &vb_[l]}) v->resize(columns);
      g_[l].resize(static_cast<std::size_t>(batch) * columns);
    }
  }
  void set(int layer, const float* weight, const float* bias) {
    const int n = width[layer + 1];
    const std::size_t bytes = sizeof(float) * static_cast<std::size_t>(n);
    for (int i = 0; i < width[layer]; ++i) std::memcpy(w_[layer].data() + i * padded(n), weight + i * n, bytes);
    std::memcpy(b_[layer].data(), bias, bytes);
  }
  /// Returns the last step's summed gradient of one weight.
  float gradient(int layer, int i, int j) const { return dw_[layer].data()[i * padded(width[layer + 1]) + j]; }

  void operator()(const float* input, const std::int32_t* labels) {
    const float* x = input;
    for (int l = 0; l < layers; ++l) {
      const int n = padded(width[l + 1]);
      float* y = x_[l + 1].data();
      product(x, stride(l), 1, w_[l].data(), y, batch_, n, width[l]);
      for (int s = 0; s < batch_; ++s)
        for (int j = 0; j < n; ++j) {
          const float z = y[s * n + j] + b_[l][static_cast<std::size_t>(j)];
          y[s * n + j] = l + 1 < layers && z < 0 ? 0 : z;
        }
      x = y;
    }
    softmax_gradient(labels);
    for (int l = layers - 1; l >= 0; --l) backward(l, l == 0 ? input : x_[l].data());
    ++steps_;
    for (int l = 0; l < layers; ++l) {
      adam(w_[l], dw_[l], mw_[l], vw_[l], width[l] * padded(width[l + 1]));
      adam(b_[l], db_[l], mb_[l], vb_[l], padded(width[l + 1]));
    }
  }

 private:
  /// The caller's input is not padded.
  static constexpr int stride(int l) { return l == 0 ? width[0] : padded(width[l]); }

  void softmax_gradient(const std::int32_t* labels) {
    constexpr int classes = width[layers], n = padded(classes);
    for (int s = 0; s < batch_; ++s) {
      const float* y = x_[layers].data() + s * n;
      float* g = g_[layers - 1].data() + s * n;
      float largest = y[0], sum = 0;
      for (int j = 1; j < classes; ++j) largest = y[j] > largest ? y[j] : largest;
      for (int j = 0; j < classes; ++j) sum += g[j] = std::exp(y[j] - largest);
      for (int j = 0; j < classes; ++j) g[j] = g[j] / sum - (j == labels[s] ? 1.0f : 0.0f);
    }
  }

  void backward(int l, const float* x) {
    const int k = width[l], n = padded(width[l + 1]);
    const float* g = g_[l].data();
    product(x, 1, stride(l), g, dw_[l].data(), k, n, batch_);
    std::memset(db_[l].data(), 0, db_[l].size() * 4);
    for (int s = 0; s < batch_; ++s)
      for (int j = 0; j < n; ++j) db_[l][static_cast<std::size_t>(j)] += g[s * n + j];
    if (l == 0) return;
    float* t = transposed_[l].data();
    for (int i = 0; i < k; ++i)
      for (int j = 0; j < n; ++j) t[j * padded(k) + i] = w_[l][static_cast<std::size_t>(i * n + j)];
    float* down = g_[l - 1].data();
    product(g, n, 1, t, down, batch_, padded(k), n);
    for (int i = 0; i < batch_ * padded(k); ++i) down[i] = x[i] > 0 ? down[i] : 0;
  }

  void adam(std::vector<float>& p, const std::vector<float>& g, std::vector<float>& m, std::vector<float>& v,
            int count) const {
    const auto t = static_cast<float>(steps_);
    const float rate = 1e-3f / (1 - std::pow(0.9f, t)), scale = 1 / (1 - std::pow(0.999f, t));
    const float over = 1.0f / static_cast<float>(batch_);
    float *pp = p.data(), *mm = m.data(), *vv = v.data();
    const float* gg = g.data();
#pragma GCC ivdep
    for (int i = 0; i < count; ++i) {
      const float mean = gg[i] * over;
      mm[i] = 0.9f * mm[i] + 0.1f * mean;
      vv[i] = 0.999f * vv[i] + 0.001f * mean * mean;
      pp[i] -= rate * mm[i] / (std::sqrt(vv[i] * scale) + 1e-8f);
    }
  }

  int batch_, steps_ = 0;
  std::vector<float> x_[layers + 1], g_[layers], w_[layers], b_[layers], dw_[layers], db_[layers], mw_[layers], mb_[layers],
      vw_[layers], vb_[layers], transposed_[layers];
};

}  // namespace handwritten
