#pragma once
#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include <gradual/files/atomic_file.hpp>
#include <gradual/gradual.hpp>

namespace photograph {

/// An image: colours in [0, 1], three values for each pixel, row by row.
struct Image {
  int width = 0, height = 0;
  std::vector<float> colors;
};

/// Reads a binary PPM file of 8-bit values, without comments, of at most 32768 pixels on each side. Errors: gradual::FileError.
inline Image read_ppm(const std::string& path) {
  const std::string file = gradual::read_file(path);
  std::istringstream header(file);
  std::string magic;
  Image image;
  int most = 0;
  header >> magic >> image.width >> image.height >> most;
  const auto sides = {image.width, image.height};
  const bool sized = std::ranges::all_of(sides, [](int side) { return side > 0 && side <= 1 << 15; });
  const std::int64_t values = sized ? std::int64_t{3} * image.width * image.height : 0, begin = header.tellg();
  if (!header || magic != "P6" || most != 255 || !sized || std::ssize(file) != begin + 1 + values)
    throw gradual::FileError(path + ": is no PPM file of bytes without comments");
  for (const char byte : std::string_view(file).substr(file.size() - static_cast<std::size_t>(values)))
    image.colors.push_back(static_cast<float>(static_cast<unsigned char>(byte)) / 255);
  return image;
}
inline void write_ppm(const std::string& path, const Image& image) {
  std::string file = "P6\n" + std::to_string(image.width) + " " + std::to_string(image.height) + "\n255\n";
  for (const float color : image.colors) file += static_cast<char>(static_cast<unsigned char>(color * 255 + 0.5f));
  gradual::write_atomically(path, std::as_bytes(std::span(file)));
}

/// Returns the centre of each pixel of an image whose longer side is 1: the places at which the net is evaluated.
inline std::vector<float> places(int width, int height) {
  const auto longer = static_cast<float>(std::max(width, height));
  std::vector<float> at;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (const int pixel : {x, y}) at.push_back((static_cast<float>(pixel) + 0.5f) / longer);
  return at;
}

}  // namespace photograph
