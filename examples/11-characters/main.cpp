// A transformer block learns a poem by heart, character by character, and then writes it down from its first words; or it
// learns a text of yours and continues its beginning in the same style.
// Usage: 11-characters [text]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <string>

#include "model.hpp"

using namespace characters;

namespace {

// Lewis Carroll, 1871.
constexpr std::string_view poem = R"('twas brillig, and the slithy toves
did gyre and gimble in the wabe.
all mimsy were the borogoves,
and the mome raths outgrabe.

beware the jabberwock, my son!
the jaws that bite, the claws that catch!
beware the jubjub bird, and shun
the frumious bandersnatch!

he took his vorpal sword in hand.
long time the manxome foe he sought.
so rested he by the tumtum tree,
and stood awhile in thought.
)";

std::int32_t code(char letter) { return static_cast<std::int32_t>(alphabet.find(letter)); }

/// Returns the text of a file in the alphabet's characters: in lower case, with a space for any other character.
std::string read_text(const std::string& path) {
  std::string text;
  for (const char letter : read_file(path)) {
    const char small = letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
    text += alphabet.find(small) == alphabet.npos ? ' ' : small;
  }
  return text;
}

/// The passages that begin at every `stride`th character, and the successor of each of their characters.
struct Passages {
  std::vector<std::int32_t> text, next;
  Passages(std::string_view all, std::size_t stride) {
    for (std::size_t begin = 0; begin + length < all.size(); begin += stride)
      for (std::size_t i = begin; i < begin + length; ++i) text.push_back(code(all[i])), next.push_back(code(all[i + 1]));
  }
  auto data() const { return Dataset<i32, i32>::of(static_cast<std::int64_t>(text.size()) / length, text, next); }
};

auto optimizer_of(std::int64_t steps) {
  return Accumulate{ClipByGlobalNorm{AdamW{.learning_rate = schedule::one_cycle(6e-3, steps, steps / 6)}, 1.0}};
}
using Learning = Trainer<Net, decltype(optimizer_of(1))>;

constexpr std::int64_t window = 64;
Learning learned(const Passages& passages, int epochs, Progress progress) {
  const auto data = passages.data();
  const std::int64_t steps = (data.size() + window - 1) / window * epochs;
  Learning trainer(Net{}, optimizer_of(steps), {.global_batch = window, .memory_budget = 2_MiB});
  std::printf("micro-batches of %lld passages in a budget of 2 MiB\n",
              static_cast<long long>(trainer.session().options().micro_batch));
  trainer.fit(data, {.epochs = epochs, .progress = progress});
  const Averages averages = trainer.evaluate(data);
  std::printf("%lld passages, %lld parameters: loss %.3f, %.1f%% of characters right\n\n", static_cast<long long>(data.size()),
              static_cast<long long>(Net::parameter_elements), averages.loss(), 100 * averages.metric(0));
  return trainer;
}

/// Continues `text` until it has `size` characters. `choose` picks one by the scores of all.
template <class Choose>
std::string written(const Learning& trainer, std::string text, std::size_t size, Choose choose) {
  Inference<Net> writer(trainer.parameters());
  std::vector<std::int32_t> seen(length);
  std::vector<float> scores(length * letters);
  while (text.size() < size) {
    const std::size_t count =
        std::min<std::size_t>(text.size(), length);  // the last ones; no position sees those after it
    std::transform(text.end() - static_cast<std::ptrdiff_t>(count), text.end(), seen.begin(), code);
    writer(seen, scores);
    text += alphabet[choose(std::span(scores).subspan((count - 1) * letters, letters))];
  }
  return text;
}
std::size_t likeliest(std::span<const float> scores) {
  return static_cast<std::size_t>(std::ranges::max_element(scores) - scores.begin());
}
/// A choice at random, with the softmax of the scores as probabilities.
struct Drawn {
  std::uint64_t count = 0;
  std::size_t operator()(std::span<const float> scores) {
    double sum = 0;
    for (const float score : scores) sum += std::exp(static_cast<double>(score));
    double left = uniform<float>(1, 0, count++) * sum;
    std::size_t letter = 0;
    while (letter + 1 < scores.size() && (left -= std::exp(static_cast<double>(scores[letter]))) >= 0) ++letter;
    return letter;
  }
};

/// Learns the text of a file and prints how it might continue.
int imitate(const std::string& path) {
  const std::string text = read_text(path);
  if (text.size() <= length)
    throw DataError(path + ": has " + std::to_string(text.size()) + " characters, a passage " + std::to_string(length));
  const Learning trainer = learned(Passages(text, 16), 10, Progress::automatic);
  std::cout << written(trainer, text.substr(0, length), 1000, Drawn{}) << '\n';
  return 0;
}

int recite() {
  const Learning trainer = learned(Passages(poem, 1), 50, Progress::never);
  const std::string all = written(trainer, std::string(poem.substr(0, 12)), poem.size(), likeliest);
  std::cout << all << '\n';
  std::size_t same = 0;
  for (std::size_t i = 0; i < poem.size(); ++i) same += all[i] == poem[i];
  std::printf("%zu of %zu characters are the poem's\n", same, poem.size());
  return 10 * same > 9 * poem.size() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
  return argc > 1 ? imitate(argv[1]) : recite();
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
