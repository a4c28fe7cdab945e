#pragma once
#include <gradual/gradual.hpp>

namespace autoencoder {

using namespace gradual;

inline constexpr int codes = 8, pixels = 64, channels = 16;

/// A net from images of 8 × 8 pixels to the mean and the log variance of each of their codes.
struct Encoder {
  nn::Conv2d half;
  nn::GroupNorm norm;
  nn::Linear output;
  constexpr explicit Encoder(Scope s)
      : half(s / "half", 1, channels, 3, {.stride = 2, .padding = 1}), norm(s / "norm", 4, channels),
        output(s / "output", channels * 4 * 4, 2 * codes) {}
  constexpr Var operator()(Var image) const {
    const Var planes = half(reshape(image, Shape::per_sample({1, 8, 8})));
    return output(flatten(silu(norm(planes))));
  }
};

/// A net from codes to scores of pixels: above 0 if a pixel is more likely light than dark.
struct Decoder {
  nn::Linear input;
  nn::GroupNorm norm;
  nn::ConvTranspose2d twice;
  constexpr explicit Decoder(Scope s)
      : input(s / "input", codes, channels * 4 * 4), norm(s / "norm", 4, channels),
        twice(s / "twice", channels, 1, 4, {.stride = 2, .padding = 1}) {}
  constexpr Var operator()(Var code) const {
    const Var planes = reshape(input(code), Shape::per_sample({channels, 4, 4}));
    return flatten(twice(silu(norm(planes))));
  }
};

/// A variational autoencoder (Kingma and Welling 2014): the loss is the negative lower bound of an image's log likelihood.
struct Autoencoder {
  Encoder encoder;
  Decoder decoder;
  constexpr explicit Autoencoder(Scope s) : encoder(s / "encoder"), decoder(s / "decoder") {}

  constexpr Loss loss(Var image) const {
    const auto [mean, log_variance] = split<2>(encoder(image));
    const Var spread = exp(0.5 * log_variance);
    const Var code = mean + spread * normal_like(mean);  // the mean alone in evaluation
    const Var pixels_lost = bce_with_logits(decoder(code), image) * double{pixels};
    const Var codes_told = 0.5 * sum(square(mean) + exp(log_variance) - log_variance - 1.0, {-1});
    return {pixels_lost + codes_told, metric("pixels", pixels_lost), metric("codes", codes_told)};
  }
  constexpr Var predict(Var image) const {
    const auto [mean, log_variance] = split<2>(encoder(image));
    return sigmoid(decoder(mean));
  }
};

/// The decoder alone; its parameters have the names that they have in the whole.
struct Painter {
  Decoder decoder;
  constexpr explicit Painter(Scope s) : decoder(s / "decoder") {}
  constexpr Var predict(Var code) const { return sigmoid(decoder(code)); }
};

using Net = Compiled<Autoencoder, Inputs<f32[pixels]>>;
using PainterNet = Compiled<Painter, Inputs<f32[codes]>>;

}  // namespace autoencoder
