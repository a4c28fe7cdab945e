#pragma once
#include <optional>

#include <gradual/autodiff/ops/conv2d.hpp>
#include <gradual/cuda/convolution_form.hpp>
#include <gradual/cuda/runtime.hpp>
#include <gradual/cuda/twin_operands.hpp>

namespace gradual::cuda {

inline constexpr bool has_convolution_library = true;

struct LibraryConvolution {
  ConvolutionForm form;
};

/// Whether the twin's library has an engine for convolutions.
inline bool twin_has_engines = true;

/// Stands in for cuDNN: the same layouts, one chain of float sums, operands rounded as coarsely as `Precision` allows.
class ConvolutionLibrary {
 public:
  std::optional<LibraryConvolution> find(const ConvolutionForm& form, std::int64_t /*alignment*/,
                                         std::int64_t /*workspace*/) const {
    if (!twin_has_engines) return {};
    return LibraryConvolution{form};
  }

  void run(const LibraryConvolution& found, const Stream& stream, void* images, void* weights, void* outputs,
           void* /*workspace*/) const {
    stream.enqueue([=, form = found.form] {
      with_elements(form.type, [&](auto e) {
        using E = decltype(e);
        E *const x = static_cast<E*>(images), *const w = static_cast<E*>(weights), *const y = static_cast<E*>(outputs);
        if (form.part == ConvolutionPart::outputs) convolve(form, form.of, x, w, y);
        else if (form.part == ConvolutionPart::images) convolve(form, gradual::detail::adjoint(form.of), y, w, x);
        else sum_weights(form, x, y, w);
      });
    });
  }

 private:
  template <class E>
  static void convolve(const ConvolutionForm& form, const Convolution& c, const E* x, const E* w, E* y) {
    for (std::int64_t group = 0; group < form.images * c.groups; ++group)
      for (std::int64_t output = 0; output < c.outputs; ++output)
        for (std::int64_t position = 0; position < c.positions(); ++position) {
          float sum = 0;
          for (std::int64_t tap = 0; tap < c.taps(); ++tap)
            if (const std::int64_t pixel = c.pixel(position, tap); pixel >= 0)
              sum += product(form, w[group % c.groups * c.weights() + c.weight(output, tap)], x[group * c.image() + pixel]);
          y[group * c.result() + output * c.positions() + position] = E(sum);
        }
  }
  template <class E>
  static void sum_weights(const ConvolutionForm& form, const E* x, const E* y, E* w) {
    const Convolution& c = form.of;
    for (std::int64_t output = 0; output < c.outputs; ++output)
      for (std::int64_t tap = 0; tap < c.taps(); ++tap) {
        float sum = 0;
        for (std::int64_t image = 0; image < form.images; ++image)
          for (std::int64_t position = 0; position < c.positions(); ++position)
            if (const std::int64_t pixel = c.pixel(position, tap); pixel >= 0)
              sum += product(form, y[(image * c.outputs + output) * c.positions() + position], x[image * c.image() + pixel]);
        E& to = w[output * c.taps() + tap];
        to = E(form.adds ? static_cast<float>(to) + sum : sum);  // else not read: it may be a NaN
      }
  }
  template <class E>
  static float product(const ConvolutionForm& form, E a, E b) {
    return rounded(static_cast<float>(a), form.precision) * rounded(static_cast<float>(b), form.precision);
  }
};

}  // namespace gradual::cuda
