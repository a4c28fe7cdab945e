// The models of docs/guides/genomes-and-cells.md and their properties: both strands score the same, unknown labels do not
// count, chromosomes are held back as a whole, and codes separate kinds of cells but not batches.
#include <algorithm>
#include <cmath>
#include <random>

#include "../documented.hpp"

namespace documented_genomes_and_cells_test {

using namespace documented;

struct Strands {  // which of two marks a piece of DNA has; bases are 0 to 3, for A, C, G and T, and 4 for N
  static constexpr int steps = 40, marks = 2;
  nn::Conv1d motifs;
  nn::Linear output;
  constexpr explicit Strands(Scope s) : motifs(s / "motifs", 4, 16, 7), output(s / "output", 16, marks) {}
  static constexpr Var letters(Var base) { return transpose(one_hot(base, 4, 4), {0, 2, 1}); }  // [batch, 4, steps]
  constexpr Var strand(Var x) const { return output(max(relu(motifs(x)), {2})); }
  constexpr Var scores(Var x) const { return maximum(strand(x), strand(flip(flip(x, 1), 2))); }
  constexpr Var predict(Var base) const { return scores(letters(base)); }
  constexpr Loss loss(Var base, Var label) const {  // -1 where nobody has measured
    const Var s = predict(base), known = label >= 0.0;
    return Loss(softplus(s) - label * s, metric("right", (s > 0.0) == (label > 0.5))).weighted_by(known);
  }
};
using StrandsNet = Compiled<Strands, Inputs<i32[Strands::steps], f32[Strands::marks]>>;

struct Seen : Strands {  // what each letter adds to the score of the first mark
  using Strands::Strands;
  constexpr Var predict(Var base) const {
    const Var x = letters(base);
    return x * gradients(select(scores(x), 1, 0), {x})[0];
  }
};
using SeenNet = Compiled<Seen, Inputs<i32[Strands::steps], f32[Strands::marks]>>;

struct Profile {  // reads at each place of a piece, and how many they are
  static constexpr int steps = 64, width = 8;
  nn::Conv1d first, last;
  std::vector<nn::Conv1d> wider;
  nn::Linear total;
  constexpr explicit Profile(Scope s)
      : first(s / "first", 4, width, 9, {.padding = 4}), last(s / "last", width, 1, 9, {.padding = 4}),
        total(s / "total", width, 1) {
    for (int reach = 2; reach <= 8; reach *= 2)
      wider.emplace_back(s / "wider" / reach, width, width, 3, Walk{.padding = reach, .dilation = reach});
  }
  constexpr Loss loss(Var base, Var reads) const {
    Var x = relu(first(Strands::letters(base)));
    for (const nn::Conv1d& conv : wider) x = x + relu(conv(x));
    const Var shape = select(last(x), 1, 0), log_total = select(total(mean(x, {2})), 1, 0), seen = sum(reads, {1});
    const Var spread = -sum(reads * log_softmax(shape), {1});  // multinomial, of so many reads as there are
    return {spread + 10.0 * square(log_total - log1p(seen)), metric("spread", spread)};
  }
};
using ProfileNet = Compiled<Profile, Inputs<i32[Profile::steps], f32[Profile::steps]>>;

constexpr Var negative_binomial(Var log_mean, Var count, Var log_size) {
  const Var size = exp(log_size), odds = log_mean - log_size;
  return lgamma(count + 1.0) - log_rising(size, count) - count * log_sigmoid(odds) - size * log_sigmoid(-odds);
}

constexpr Var zero_inflated(Var cost, Var count, Var score) {
  return cost + softplus(score) - where(count == 0.0, softplus(score + cost), 0.0);
}

struct Cells {  // counts of genes in cells of several batches, by two numbers that do not tell the batch
  static constexpr int genes = 12, batches = 2, width = 2;
  nn::Linear encoder, code, decoder, rates, zeros;
  Parameter log_size, warm;  // warm: frozen, written by the program
  constexpr explicit Cells(Scope s)
      : encoder(s / "encoder", genes + batches, 16), code(s / "code", 16, 2 * width),
        decoder(s / "decoder", width + batches, 16), rates(s / "rates", 16, genes), zeros(s / "zeros", 16, genes),
        log_size(s.parameter("log_size", Shape{genes}, init::zeros())), warm(s.parameter("warm", Shape{}, init::zeros())) {}
  constexpr Var coded(Var count, Var batch) const {
    return code(relu(encoder(concat({log1p(count), one_hot(batch, batches)}, 1))));
  }
  constexpr Var predict(Var count, Var batch) const { return slice(coded(count, batch), 1, 0, width); }
  constexpr Loss loss(Var count, Var batch) const {
    const auto [mean, log_variance] = split<2>(coded(count, batch));
    const Var z = mean + exp(0.5 * log_variance) * normal_like(mean);
    const Var h = relu(decoder(concat({z, one_hot(batch, batches)}, 1)));
    const Var log_mean = log_softmax(rates(h)) + log(sum(count, {1}, true));  // shares of all that was counted in the cell
    const Var cost = zero_inflated(negative_binomial(log_mean, count, log_size.on(h)), count, zeros(h));
    const Var kl = 0.5 * sum(square(mean) + exp(log_variance) - 1.0 - log_variance, {1});
    return {sum(cost, {1}) + warm.on(kl) * kl, metric("kl", kl)};
  }
};
using CellsNet = Compiled<Cells, Inputs<f32[Cells::genes], i32>>;

/// Pieces of a genome that contain their marks' motifs, on either strand.
struct Genome {
  static constexpr std::int64_t pieces = 480;
  std::vector<std::uint8_t> genome = std::vector<std::uint8_t>(pieces * Strands::steps);
  std::vector<std::int64_t> begin;
  std::vector<std::int32_t> chromosome;
  std::vector<float> marks;
  Genome() {
    std::mt19937 random(3);
    for (std::uint8_t& base : genome) base = random() % 50 == 0 ? 4 : static_cast<std::uint8_t>(random() % 4);
    const std::uint8_t motifs[2][7] = {{0, 1, 1, 0, 2, 3, 0}, {3, 3, 2, 2, 2, 0, 1}};
    for (std::int64_t piece = 0; piece < pieces; ++piece) {
      begin.push_back(piece * Strands::steps);
      chromosome.push_back(static_cast<std::int32_t>(piece / 160));
      for (std::int64_t mark = 0; mark < 2; ++mark) {
        const bool is = random() % 2 == 0, other_strand = random() % 2 == 0;
        std::uint8_t* const at = &genome[static_cast<std::size_t>(begin.back() + 20 * mark + random() % 13)];
        for (int k = 0; is && k < 7; ++k) at[k] = other_strand ? 3 - motifs[mark][6 - k] : motifs[mark][k];
        marks.push_back(random() % 5 == 0 ? -1.f : is ? 1.f : 0.f);
      }
    }
  }
};

TEST(GenomesAndCells, EachChromosomeIsHeldBackAndPredictedByTheOthers) {
  const Genome data;
  const std::vector<std::uint8_t>& genome = data.genome;  // not a structured binding, which clang 14 cannot capture
  const std::vector<std::int64_t>& begin = data.begin;
  const std::vector<std::int32_t>& chromosome = data.chromosome;
  const std::vector<float>& marks = data.marks;
  const auto pieces_of = [&](std::vector<std::int32_t> pieces) {
    const std::int64_t count = std::ssize(pieces);
    return Dataset<i32, f32>::made(count, {Strands::steps, Strands::marks},
                                   [&, pieces](auto numbers, std::span<std::int32_t> base, std::span<float> label) {
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto piece = static_cast<std::size_t>(pieces[static_cast<std::size_t>(numbers[i])]);
        std::copy_n(&genome[static_cast<std::size_t>(begin[piece])], Strands::steps, &base[i * Strands::steps]);
        std::copy_n(&marks[piece * Strands::marks], Strands::marks, &label[i * Strands::marks]);
      }
    });
  };
  const Folds folds = Folds::grouped(chromosome, 3, 0);  // as many as there are chromosomes
  for (int f = 0; f < folds.count(); ++f) {
    const auto held_back = folds.held_back(f);
    EXPECT_TRUE(std::ranges::all_of(held_back, [&](auto i) { return chromosome[i] == chromosome[held_back[0]]; }));
    if (f > 0) continue;
    Trainer trainer(StrandsNet{}, Accumulate{Adam{.learning_rate = 1e-2f}}, {.global_batch = 32});
    trainer.fit(pieces_of(folds.learned(f)), {.epochs = 15});
    const Averages seen = trainer.evaluate(pieces_of(held_back));
    EXPECT_GT(seen.metric(StrandsNet::metric("right")), 0.85);
    double cost = 0, known = 0;
    std::vector<float> score, label;
    for (const std::int32_t piece : held_back) {
      std::vector<std::int32_t> base(Strands::steps), other;
      std::copy_n(&genome[static_cast<std::size_t>(begin[static_cast<std::size_t>(piece)])], Strands::steps, base.begin());
      for (auto at = base.rbegin(); at != base.rend(); ++at) other.push_back(*at == 4 ? 4 : 3 - *at);
      const std::vector<float> scores = trainer.predict(base);
      EXPECT_EQ(scores, trainer.predict(other));
      for (std::size_t mark = 0; mark < 2; ++mark) {
        const float is = marks[static_cast<std::size_t>(piece) * 2 + mark];
        if (is < 0) continue;
        known += 1, cost += std::log1p(std::exp(is == 1 ? -static_cast<double>(scores[mark]) : static_cast<double>(scores[mark])));
        if (mark == 0) score.push_back(scores[mark]), label.push_back(is);
      }
    }
    EXPECT_NEAR(seen.loss(), cost / known, 1e-5);
    EXPECT_EQ(seen.weight(), known);
    EXPECT_GT(average_precision(score, label), 0.9);
    std::vector<std::int32_t> base(&genome[0], &genome[Strands::steps]);
    base[3] = 4;
    std::vector<float> adds(4 * Strands::steps);
    Inference<SeenNet> look(trainer.parameters());
    look(base, adds);
    for (std::size_t i = 0; i < adds.size(); ++i)
      EXPECT_TRUE(adds[i] == 0 || base[i % Strands::steps] == static_cast<std::int32_t>(i / Strands::steps)) << i;
    EXPECT_TRUE(std::ranges::any_of(adds, [](float x) { return x != 0; }));
  }
}

TEST(GenomesAndCells, ProfilesAreLearned) {
  std::mt19937 random(5);
  constexpr std::size_t count = 64, steps = Profile::steps;
  std::vector<std::int32_t> base(count * steps);
  std::vector<float> reads(base.size());
  for (std::int32_t& b : base) b = static_cast<std::int32_t>(random() % 4);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = i * steps + 8 + random() % (steps - 24);
    for (std::size_t k = 0; k < 8; ++k) base[at + k] = k % 2 == 0 ? 0 : 3, reads[at + k] = static_cast<float>(random() % 9);
  }
  Trainer trainer(ProfileNet{}, Accumulate{Adam{.learning_rate = 1e-2f}}, {.global_batch = 16});
  const History history = trainer.fit(Dataset<i32, f32>::of(count, base, reads), {.epochs = 20});
  const auto spread = [&](std::size_t epoch) { return history[epoch].training.metric(ProfileNet::metric("spread")); };
  EXPECT_LT(spread(19), 0.7 * spread(0));
}

TEST(GenomesAndCells, KindsOfCellsLieApartAndBatchesDoNot) {
  std::mt19937 random(4);
  std::vector<float> count;
  std::vector<std::int32_t> batch, kind;
  for (int cell = 0; cell < 400; ++cell) {
    batch.push_back(cell % 2), kind.push_back(cell / 2 % 2);
    const double depth = std::exp(std::normal_distribution<>(0, 0.3)(random));
    for (int gene = 0; gene < Cells::genes; ++gene) {
      const double mean = depth * (gene % 3 == 0 ? kind.back() == 0 ? 12 : 2 : gene % 3 == 1 ? 5 : batch.back() == 0 ? 4 : 8);
      std::gamma_distribution<> rate(4, mean / 4);
      count.push_back(random() % 10 == 0 ? 0.f : static_cast<float>(std::poisson_distribution<>(rate(random))(random)));
    }
  }
  Trainer trainer(CellsNet{}, Accumulate{Adam{.learning_rate = 5e-3f}}, {.global_batch = 50, .freeze = {"warm"}});
  const Dataset cells(count, batch);
  const History history = trainer.fit(cells, {.epochs = 40, .on_epoch = [&](const EpochRecord& epoch) {
    trainer.session().parameters()["warm"].values[0] = std::min(1.f, static_cast<float>(epoch.epoch + 1) / 20);
  }});
  EXPECT_GT(history.back().training.metric(CellsNet::metric("kl")), 0.3) << "the code says nothing";
  const std::vector<float> z = trainer.predict(count, batch);
  const auto distance = [&](const std::vector<std::int32_t>& group) {  // between the means of two groups
    double sum[2][2]{}, of[2]{};
    for (std::size_t i = 0; i < group.size(); ++i)
      for (std::size_t k = 0; k < 2; ++k) sum[group[i]][k] += z[2 * i + k], of[group[i]] += 0.5;
    return std::hypot(sum[0][0] / of[0] - sum[1][0] / of[1], sum[0][1] / of[0] - sum[1][1] / of[1]);
  };
  EXPECT_GT(distance(kind), 1);
  EXPECT_LT(distance(batch), 0.2 * distance(kind));
}

}  // namespace documented_genomes_and_cells_test
