#pragma once
#include <gradual/gradual.hpp>

namespace gan {

using namespace gradual;

inline constexpr int noise = 16, pixels = 64;

/// A net that draws an image of 8 × 8 pixels in (0, 1) from 16 normally distributed numbers.
struct Generator {
  nn::Linear first, second, output;
  constexpr explicit Generator(Scope s)
      : first(s / "first", noise, 128, init::kaiming_uniform(noise)),
        second(s / "second", 128, 128, init::kaiming_uniform(128)), output(s / "output", 128, pixels) {}
  constexpr Var operator()(Var z) const { return sigmoid(output(relu(second(relu(first(z)))))); }
};

/// A net that gives a score above 0 to images that it takes for real.
struct Discriminator {
  nn::Linear first, second, output;
  constexpr explicit Discriminator(Scope s)
      : first(s / "first", pixels, 128, init::kaiming_uniform(pixels)),
        second(s / "second", 128, 64, init::kaiming_uniform(128)), output(s / "output", 64, 1) {}
  constexpr Var operator()(Var image) const {
    const Var hidden = dropout(leaky_relu(first(image), 0.2), 0.3);
    return output(dropout(leaky_relu(second(hidden), 0.2), 0.3));
  }
};

/// The discriminator's training: images, with the target 0.9 if they are real (label smoothing; Salimans et al. 2016), else 0.
struct Judge {
  Discriminator discriminator;
  constexpr explicit Judge(Scope s) : discriminator(s / "discriminator") {}
  constexpr Var predict(Var image) const { return discriminator(image); }
  constexpr Loss loss(Var image, Var real) const {
    const Var score = predict(image);
    return {bce_with_logits(score, real), metric("accuracy", sum((score > 0.0) == (real > 0.5), {-1}))};
  }
};

/// The generator's training: noise alone, by the discriminator's score of the images drawn from it (the non-saturating loss;
/// Goodfellow et al. 2014). The discriminator's parameters are frozen in it.
struct Forger {
  Generator generator;
  Discriminator discriminator;
  constexpr explicit Forger(Scope s) : generator(s / "generator"), discriminator(s / "discriminator") {}
  constexpr Var predict(Var z) const { return generator(z); }
  constexpr Loss loss(Var z) const { return Loss(sum(softplus(-discriminator(generator(z))), {-1})); }
};

using JudgeNet = Compiled<Judge, Inputs<f32[pixels], f32[1]>>;
using ForgerNet = Compiled<Forger, Inputs<f32[noise]>>;

}  // namespace gan
