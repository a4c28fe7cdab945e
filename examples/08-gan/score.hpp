#pragma once
#include <cmath>
#include <optional>

#include "../01-digits/data.hpp"
#include "../01-digits/model.hpp"

namespace gan {

/// The quality of images, judged by a classifier of real digits and by the nearest real digit.
struct Score {
  double sureness = 0;  ///< mean probability of the class that the classifier finds most likely
  double classes = 0;   ///< exp of the entropy of the classes it sees: 10 if all are equally frequent, 1 if there is only one
  /// exp of the mean KL(p(class | image) ‖ p(class)): up to 10 (Salimans et al. 2016, with this classifier)
  double inception = 0;
  double nearest = 0;   ///< mean distance, over all pixels, to the nearest training digit
};

/// A 64-128-10 classifier, and the digits it was trained on.
class Critic {
 public:
  Critic(std::span<const float> images, std::span<const std::int32_t> labels) : images_(images) {
    digits::Net net;
    gradual::Trainer trainer(net, digits::optimizer, {.global_batch = 128});
    trainer.fit(gradual::Dataset(images, labels), {.epochs = 60, .progress = gradual::Progress::never});
    classify_.emplace(trainer.parameters(), 256);
  }

  Score of(std::span<const float> images) {
    const std::size_t count = images.size() / 64;
    std::vector<float> scores(count * 10);
    (*classify_)(images, scores);
    Score result;
    std::vector<double> all(10, 0.0), one(count * 10);
    for (std::size_t i = 0; i < count; ++i) {
      double sum = 0, most = *std::max_element(&scores[i * 10], &scores[i * 10] + 10), best = 0;
      for (std::size_t c = 0; c < 10; ++c) sum += one[i * 10 + c] = std::exp(static_cast<double>(scores[i * 10 + c]) - most);
      for (std::size_t c = 0; c < 10; ++c) {
        all[c] += (one[i * 10 + c] /= sum) / static_cast<double>(count);
        best = std::max(best, one[i * 10 + c]);
      }
      result.sureness += best / static_cast<double>(count);
      result.nearest += nearest(&images[i * 64]) / static_cast<double>(count);
    }
    double entropy = 0, divergence = 0;
    for (std::size_t c = 0; c < 10; ++c) {
      if (all[c] > 0) entropy -= all[c] * std::log(all[c]);
      for (std::size_t i = 0; i < count; ++i)
        if (one[i * 10 + c] > 0)
          divergence += one[i * 10 + c] * std::log(one[i * 10 + c] / all[c]) / static_cast<double>(count);
    }
    result.classes = std::exp(entropy);
    result.inception = std::exp(divergence);
    return result;
  }

 private:
  double nearest(const float* image) const {
    float least = 64;
    for (std::size_t at = 0; at < images_.size(); at += 64) {
      float sum = 0;
      for (std::size_t k = 0; k < 64; ++k) sum += (image[k] - images_[at + k]) * (image[k] - images_[at + k]);
      least = std::min(least, sum);
    }
    return std::sqrt(static_cast<double>(least));
  }

  std::span<const float> images_;
  std::optional<gradual::Inference<digits::Net>> classify_;
};

}  // namespace gan
