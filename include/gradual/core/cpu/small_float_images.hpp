#pragma once
#include <gradual/core/cpu/batch_convolution.hpp>
#include <gradual/core/cpu/convolution.hpp>

// Convolutions of images of 16 bits, which become floats a few images at a time.

namespace gradual::cpu {

/// Returns how many images, of `images` per sample, a sum over a window takes at a time: those of a sample, or of a block.
constexpr std::int64_t small_float_images(const Convolution& c, std::int64_t images) {
  return block_samples(images * c.positions()) * images;
}

/// Workspace for images of elements of type E, in elements of the type in which they are computed, one part after another.
template <class E>
struct SpaceOf {
  static constexpr std::int64_t forward(const Convolution& c) {
    return convolution_space<Computed<E>>(c) + (is_small_float<E> ? c.groups * (c.weights() + c.image() + c.result()) : 0);
  }
  template <class W>
  static constexpr std::int64_t backward(const Convolution& c, std::int64_t images) {
    const std::int64_t copied = is_small_float<E> ? small_float_images(c, images) * c.groups * (c.image() + c.result()) : 0;
    return BatchConvolutionSpace<Computed<E>>::template elements<W>(c) + copied;
  }
};

/// Does `convolution` in floats, with each output rounded once.
template <class E>
  requires is_small_float<E>
[[gnu::noinline]] void convolution(const Convolution& c, const E* x, const E* w, E* y, std::int64_t images, float* workspace,
                                   Part part = {}) {
  const std::int64_t in = c.groups * c.image(), out = c.groups * c.result(), weights = c.groups * c.weights();
  float* const image = workspace + convolution_space<float>(c);
  float *const output = image + in, *const kernel = output + out;
  copy_row(w, weights, kernel);
  const auto [first, last] = part.of(images);
  for (std::int64_t i = first; i < last; ++i) {
    copy_row(x + i * in, in, image);
    convolution<float>(c, image, kernel, output, 1, workspace);
    copy_row(output, out, y + i * out);
  }
}

/// Does `batch_convolution` in floats.
template <class E, class W>
  requires is_small_float<E>
[[gnu::noinline]] void batch_convolution(const Convolution& c, std::int64_t images, const E* x, const E* g,
                                         const WindowPart<float, W>& window, float* workspace, Part part = {}) {
  const std::int64_t in = c.groups * c.image(), out = c.groups * c.result();
  const std::int64_t together = small_float_images(c, images) * c.positions(), end = window.begin + window.count;
  float *const inputs = workspace + BatchConvolutionSpace<float>::elements<W>(c),
               *const outputs = inputs + small_float_images(c, images) * in;
  for (std::int64_t at = window.begin; at < end;) {  // up to the end of a block, which leaves nothing open
    const std::int64_t stop = std::min((at / together + 1) * together, end);
    const std::int64_t from = (at - window.begin) / c.positions(), count = (stop - at) / c.positions();
    copy_row(x + from * in, count * in, inputs);
    copy_row(g + from * out, count * out, outputs);
    const WindowPart<float, W> some{window.total, window.open, at, stop - at, window.first && at == window.begin,
                                    window.last && stop == end};
    batch_convolution<float, W>(c, images, inputs, outputs, some, workspace, part);
    at = stop;
  }
}

}  // namespace gradual::cpu
