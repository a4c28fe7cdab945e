// A transformer block learns a poem by heart, character by character, and then writes it down from its first words.
#include <algorithm>
#include <cstdio>
#include <cstring>
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

/// Goes on from `text` until it has `size` characters, each the likeliest one.
std::string written(Inference<Net>& writer, std::string text, std::size_t size) {
  std::vector<std::int32_t> seen(length);
  std::vector<float> scores(length * letters);
  while (text.size() < size) {
    const std::size_t count =
        std::min<std::size_t>(text.size(), length);  // the last ones; no place sees those after it
    std::transform(text.end() - static_cast<std::ptrdiff_t>(count), text.end(), seen.begin(), code);
    writer(seen, scores);
    const float* next = &scores[(count - 1) * letters];
    text += alphabet[static_cast<std::size_t>(std::max_element(next, next + letters) - next)];
  }
  return text;
}

}  // namespace

int main() try {
  std::vector<std::int32_t> text, next;
  for (std::size_t begin = 0; begin + length < poem.size(); ++begin)
    for (std::size_t i = begin; i < begin + length; ++i)
      text.push_back(code(poem[i])), next.push_back(code(poem[i + 1]));
  const auto data = Dataset<i32, i32>::of(static_cast<std::int64_t>(text.size()) / length, text, next);

  constexpr auto optimizer =
      Accumulate{ClipByGlobalNorm{AdamW{.learning_rate = schedule::one_cycle(6e-3, 300, 50)}, 1.0}};
  Trainer trainer(Net{}, optimizer, {.global_batch = 64, .memory_budget = 2_MiB});
  std::printf("micro-batches of %lld passages in a budget of 2 MiB\n",
              static_cast<long long>(trainer.session().options().micro_batch));
  trainer.fit(data, {.epochs = 50, .progress = Progress::never});
  const Averages learned = trainer.evaluate(data);
  std::printf("%lld passages, %lld parameters: loss %.3f, %.1f%% of characters right\n\n",
              static_cast<long long>(data.size()), static_cast<long long>(Net::parameter_elements), learned.loss(),
              100 * learned.metric(0));
  Inference<Net> writer(trainer.parameters().values());
  const std::string all = written(writer, std::string(poem.substr(0, 12)), poem.size());
  std::cout << all << '\n';
  std::size_t same = 0;
  for (std::size_t i = 0; i < poem.size(); ++i) same += all[i] == poem[i];
  std::printf("%zu of %zu characters are the poem's\n", same, poem.size());
  return 10 * same > 9 * poem.size() ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
