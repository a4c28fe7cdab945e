#pragma once
#include <cstdio>
#include <span>

namespace digits {

/// Prints images of 8 × 8 values in [0, 1] side by side, one character per pixel.
inline void print_images(std::span<const float> images) {
  for (std::size_t y = 0; y < 8; ++y) {
    for (std::size_t i = 0; i < images.size() / 64; ++i) {
      for (std::size_t x = 0; x < 8; ++x) std::putchar(" .:-=+*#%@"[static_cast<int>(images[i * 64 + y * 8 + x] * 9.99f)]);
      std::printf("  ");
    }
    std::putchar('\n');
  }
}

}  // namespace digits
