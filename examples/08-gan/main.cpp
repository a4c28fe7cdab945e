// Two nets against each other: one draws digits, the other tells them from real ones (Goodfellow et al. 2014). Two sessions
// in one program, each with its own optimizer, its own window and its own micro-batches.
#include <cstdio>
#include <cstring>
#include <iostream>

#include "../01-digits/print_images.hpp"
#include "models.hpp"
#include "score.hpp"

using namespace gan;

namespace {

constexpr std::int64_t drawn = 128;  // images of each kind in the discriminator's window, and noise vectors in the generator's
constexpr int rounds = 4000;

/// Returns `count` noise vectors, different ones in each `round`.
std::vector<float> noise_of(std::uint64_t round, std::int64_t count) {
  std::vector<float> z(static_cast<std::size_t>(count * noise));
  for (std::size_t i = 0; i < z.size(); ++i) z[i] = normal<float>(5, round, i);
  return z;
}

std::vector<float> draw(std::span<const float> parameters, std::span<const float> z) {
  std::vector<float> images(z.size() / noise * pixels);
  Inference<ForgerNet>(parameters, drawn)(z, images);
  return images;
}

/// The sessions of the discriminator and the generator, which train against each other.
class Pair {
 public:
  /// `judged`, `forged`: the largest micro-batches of the discriminator and the generator.
  Pair(std::span<const float> images, std::int64_t judged, std::int64_t forged)
      : judge(JudgeNet{}, Accumulate{Adam{.learning_rate = 4e-4f, .beta1 = 0.5f}},
              {.global_batch = 2 * drawn, .micro_batch = judged, .seed = 1}),
        forger(ForgerNet{}, Accumulate{Ema{Adam{.learning_rate = 2e-4f, .beta1 = 0.5f}, 0.998}},
               {.global_batch = drawn, .micro_batch = forged, .seed = 2, .freeze = {"discriminator/*"}}),
        images_(images), order_(images.size() / pixels) {}

  /// Takes a step of the discriminator on real and drawn images, then one of the generator against it.
  void play(std::uint64_t round) {
    shuffle(order_, 3, round);
    std::vector<float> real;
    for (std::size_t i = 0; i < drawn; ++i) {
      const auto image = images_.subspan(static_cast<std::size_t>(order_[i]) * pixels, pixels);
      real.insert(real.end(), image.begin(), image.end());
    }
    judge.accumulate(real, std::vector<float>(drawn, 0.9f));  // half of its window
    judge.accumulate(draw(forger.parameters().values(), noise_of(2 * round, drawn)), std::vector<float>(drawn, 0.0f));
    for (int p = 0; p < JudgeNet::parameter_count; ++p) {
      const auto from = judge.parameters()[p];
      std::ranges::copy(from.values, forger.parameters()[from.name].values.begin());
    }
    forger.accumulate(noise_of(2 * round + 1, drawn));
  }

  Session<JudgeNet, Accumulate<Adam>> judge;
  Session<ForgerNet, Accumulate<Ema<Adam>>> forger;

 private:
  std::span<const float> images_;
  std::vector<std::int32_t> order_;
};

bool same_bits(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::memcmp(a.data(), b.data(), a.size()) == 0;
}

/// Returns whether both end in the same bits however their windows are cut. They must.
bool end_in_the_same_bits(std::span<const float> images) {
  Pair whole(images, 2 * drawn, drawn), parts(images, 37, 50);
  for (std::uint64_t round = 0; round < 100; ++round) whole.play(round), parts.play(round);
  return same_bits(whole.judge.parameter_bytes(), parts.judge.parameter_bytes()) &&
         same_bits(whole.forger.parameter_bytes(), parts.forger.parameter_bytes()) &&
         same_bits(whole.forger.optimizer_state_bytes(), parts.forger.optimizer_state_bytes());
}

void print(const char* what, const Score& s) {
  std::printf("  %-24s %8.3f %9.2f %10.2f %9.3f\n", what, s.sureness, s.classes, s.inception, s.nearest);
}

}  // namespace

int main() try {
  const digits::Data data(0);
  const std::size_t learned = 1437;
  const std::span images = std::span(data.images).first(learned * pixels),
                  unseen = std::span(data.images).subspan(learned * pixels);
  Pair pair(images, 64, 50);
  const std::vector<float> seen = noise_of(1u << 30, 1024);
  const std::vector<float> first = draw(pair.forger.parameters().values(), seen);

  std::printf("rounds  the discriminator's loss, accuracy  the generator's loss\n");
  Averages judged(1), forged(0);
  for (int round = 1; round <= rounds; ++round) {
    pair.play(static_cast<std::uint64_t>(round));
    judged.add(pair.judge.last_window());
    forged.add(pair.forger.last_window());
    if (round % (rounds / 5) != 0) continue;
    std::printf("%6d %25.3f %9.3f %21.3f\n", round, judged.loss(), judged.metric(0), forged.loss());
    judged = Averages(1), forged = Averages(0);
  }

  const std::vector<float> last = draw(pair.forger.averaged_parameters().values(), seen);
  Critic critic(images, std::span(data.labels).first(learned));
  const Score after = critic.of(last);
  std::printf("\nas a classifier sees it    sureness   classes  inception   nearest\n");
  print("digits not learned from", critic.of(unseen));
  print("drawn after training", after);
  print("drawn before it", critic.of(first));
  std::printf("\n");
  digits::print_images(std::span(last).first(8 * pixels));
  const bool same = end_in_the_same_bits(images);
  std::printf("\n100 rounds in other micro-batches: %s\n", same ? "the same bits" : "OTHER BITS");
  return same && after.classes > 8 && after.inception > 5 && after.nearest < 2 ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
