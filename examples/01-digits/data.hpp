#pragma once
#include <data/digits.hpp>
#include <gradual/gradual.hpp>

namespace digits {

/// 1797 handwritten digits: pixels in [0, 1] and classes, shuffled by `seed`.
struct Data {
  std::vector<float> images;
  std::vector<std::int32_t> labels;

  explicit Data(std::uint64_t seed) {
    const gradual::Table table = gradual::parse_csv(digits_csv, {.columns = 65}, "digits.csv");
    std::vector<std::int32_t> order(static_cast<std::size_t>(table.rows));
    gradual::shuffle(order, seed, 0);
    for (std::int32_t row : order) {
      const float* values = table.values.data() + row * 65;
      for (int i = 0; i < 64; ++i) images.push_back(values[i] / 16);
      labels.push_back(static_cast<std::int32_t>(values[64]));
    }
  }
};

}  // namespace digits
