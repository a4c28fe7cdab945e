// Tables by index: splits, threads, eager and compiled give equal bits; gradients of rows named twice; bad indices.
#include <gtest/gtest.h>

#include "../both_ways.hpp"
#include "../error_of.hpp"

namespace embedding_test {

using namespace both_ways;

const Samples<std::int32_t> tokens{labels(samples * 7, 11), {7}};

TEST(Embedding, SplitsThreadsEagerAndCompiledGiveEqualBits) {
  const std::vector<float> whole = train_compiled<TokensNet>({60}, 1, tokens, tokens);
  EXPECT_EQ(whole, train_compiled<TokensNet>({7, 1, 30, 22}, 1, tokens, tokens));
  EXPECT_EQ(whole, train_compiled<TokensNet>({25}, 2, tokens, tokens));
  EXPECT_EQ(whole, train_eager<Tokens>({60}, tokens, tokens));
  EXPECT_EQ(whole, train_eager<Tokens>({13, 21}, tokens, tokens));
}

TEST(Embedding, RowsNamedOftenGetAllOfIt) {  // case 27
  EagerTape tape(Device::cpu(), 3);
  const std::vector<std::int32_t> rows = {2, 2, 2};
  const Var table = tape.input(Tensor::from(Device::cpu(), {0.0f, 1.0f, 10.0f, 11.0f, 20.0f, 21.0f, 30.0f, 31.0f}, {4, 2}));
  const Var read = gather(table, tape.input(rows));
  EXPECT_EQ(value(read)[5], 21);
  const Tensor gradient = value(gradients(sum(read, {1}), {table})[0]);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(gradient[i], i / 2 == 2 ? 3 : 0);
}

TEST(Embedding, IndicesOutsideTheRowsAreRefusedBeforeAnythingIsRead) {
  EagerTape tape(Device::cpu(), 1);
  const Var table = tape.input(Tensor::from(Device::cpu(), {1.0f, 2.0f, 3.0f, 4.0f}, {2, 2}));
  for (const std::int32_t bad : {-1, 2, 1 << 30}) {
    const std::vector<std::int32_t> index = {bad};
    EXPECT_THROW(gather(table, tape.input(index)), DataError);
  }
  Session session(TokensNet{}, optimizer, {.global_batch = 1});
  std::vector<std::int32_t> x(7, 3);
  x[4] = 11;
  const std::vector<std::byte> before(session.parameter_bytes().begin(), session.parameter_bytes().end());
  EXPECT_THROW(session.accumulate(x, x), DataError);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), session.parameter_bytes().begin()));
}

/// Replaces vectors by the code that they score highest, as in vector quantization (van den Oord et al. 2017).
struct Quantized {
  Parameter codes;
  constexpr explicit Quantized(Scope s) : codes(s.parameter("codes", Shape{5, 3}, init::uniform(1))) {}
  constexpr Var best(Var x) const { return argmax(matmul(x, codes, false, true)); }
  constexpr Loss loss(Var x) const { return {mse(gather(codes, best(x)), x)}; }
};
/// The same, as a product with one-hot rows.
struct QuantizedByProduct : Quantized {
  using Quantized::Quantized;
  constexpr Loss loss(Var x) const { return {mse(matmul(one_hot(best(x), 5), codes), x)}; }
};

TEST(Embedding, RowsOfTheHighestScoreLearnTheSameBitsBothWays) {
  const Samples<float> x{numbers(samples * 3), {3}};
  using Net = Compiled<Quantized, Inputs<f32[3]>>;
  const std::vector<float> whole = train_compiled<Net>({60}, 1, x);
  EXPECT_EQ(whole, train_compiled<Net>({7, 1, 30, 22}, 2, x));
  EXPECT_EQ(whole, train_eager<Quantized>({60}, x));
  EXPECT_EQ(whole, train_eager<QuantizedByProduct>({60}, x));
}

TEST(Embedding, IndicesThatAreAlsoLabelsMustFitBoth) {
  for (const bool table_first : {true, false}) {
    Tape tape;
    const Var index = input(tape, Shape::per_sample({}), DType::i32), table = input(tape, Shape{3, 2}, DType::f32);
    const Var scores = input(tape, Shape::per_sample({5}), DType::f32);
    if (table_first) gather(table, index);
    cross_entropy(scores, index);
    if (!table_first) gather(table, index);
    const std::vector<std::int32_t> both{2}, label{3};
    gradual::detail::validate_values<std::int32_t>(both, tape.label_ranges, 1, 0);
    EXPECT_EQ(error_of<DataError>([&] { gradual::detail::validate_values<std::int32_t>(label, tape.label_ranges, 1, 0); }),
              "input 0, sample 0: index 3 is outside the table's 3 rows 0 to 2");
  }
}

/// Sentences padded with word 3.
struct Padded {
  nn::Embedding table;
  constexpr explicit Padded(Scope s) : table(s / "table", 11, 6, {.padding_idx = 3}) {}
  constexpr Var words(Var token) const { return table(token); }
  constexpr Loss loss(Var token) const { return {mean_per_sample(square(words(token)) + sin(words(token)))}; }
};
/// The same without `padding_idx`, with a mask that makes gradients 0 where the word is 3.
struct Masked {
  nn::Embedding table;
  constexpr explicit Masked(Scope s) : table(s / "table", 11, 6) {}
  constexpr Loss loss(Var token) const {
    const Var words = table(token), there = reshape(token, Shape::per_sample({7, 1})) != 3.0;
    return {mean_per_sample(there * (square(words) + sin(words)))};
  }
};
using PaddedNet = Compiled<Padded, Inputs<i32[7]>>;
using MaskedNet = Compiled<Masked, Inputs<i32[7]>>;

TEST(PaddedEmbedding, ItsRowBeginsWithZerosAndStaysAsItIs) {
  Session padded(PaddedNet{}, Accumulate{AdamW{.weight_decay = 0.1f}}, {.global_batch = samples});
  Session masked(MaskedNet{}, Accumulate{AdamW{.weight_decay = 0.1f}}, {.global_batch = samples});
  const auto rows = [](auto& session) { return session.parameters()["table/weight"].values; };
  const auto row = rows(padded).subspan(3 * 6, 6);
  EXPECT_TRUE(std::ranges::equal(row, std::vector<float>(6)));
  EXPECT_TRUE(std::ranges::none_of(rows(masked), [](float v) { return v == 0; }));
  std::ranges::copy(row, rows(masked).subspan(3 * 6, 6).begin());
  EXPECT_TRUE(std::ranges::equal(rows(padded), rows(masked)));
  for (int i = 0; i < 3; ++i) padded.accumulate(tokens.values), masked.accumulate(tokens.values);
  EXPECT_TRUE(std::ranges::equal(row, std::vector<float>(6)));
  EXPECT_TRUE(std::ranges::equal(rows(padded), rows(masked)));
}

TEST(PaddedEmbedding, IsReadLikeAnyOtherRow) {
  Parameters parameters(Device::cpu());
  const Padded model(parameters.root());
  parameters.initialize(1);
  const auto row = parameters[0].values.subspan(3 * 6, 6);
  std::ranges::fill(row, 2.0f);
  EagerTape tape(parameters, 1);
  const std::vector<std::int32_t> sentence = {3, 1, 3, 3, 5, 1, 3};
  const Var words = model.words(tape.input(sentence, {7}));
  EXPECT_EQ(value(words)[0], 2);
  const Tensor of_words = value(gradients(sum(words, {1, 2}), {parameter(tape, 0)})[0]),
               of_scores = value(gradients(sum(model.table.scores(words), {1, 2}), {parameter(tape, 0)})[0]);
  for (std::int64_t r = 0; r < 11; ++r) EXPECT_EQ(of_words[r * 6], r == 1 ? 2 : r == 5 ? 1 : 0) << r;
  EXPECT_NE(of_scores[3 * 6], 0) << "as an output layer it learns";
}

TEST(PaddedEmbedding, MayHaveItsPaddingInTheFirstRow) {
  Parameters parameters(Device::cpu());
  const nn::Embedding table(parameters.root() / "table", 3, 2, {.padding_idx = 0});
  parameters.initialize(1);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(parameters[0].values[i] == 0, i < 2) << i;
  EagerTape tape(parameters, 1);
  const std::vector<std::int32_t> sentence = {0, 1, 0};
  const Tensor of_words = value(gradients(sum(table(tape.input(sentence, {3})), {1, 2}), {parameter(tape, 0)})[0]);
  for (std::int64_t r = 0; r < 3; ++r) EXPECT_EQ(of_words[r * 2], r == 1) << r;
}

TEST(PaddedEmbedding, SplitsEagerAndCompiledGiveEqualBits) {
  const std::vector<float> whole = train_compiled<PaddedNet>({60}, 1, tokens);
  EXPECT_EQ(whole, train_compiled<PaddedNet>({7, 1, 30, 22}, 1, tokens));
  EXPECT_EQ(whole, train_eager<Padded>({13, 21}, tokens));
}

TEST(PaddedEmbedding, OfNoRowIsRefused) {
  std::vector<ParameterInfo> declared;
  const Scope scope(declared);
  EXPECT_EQ(error_of<ShapeError>([&] { nn::Embedding(scope, 11, 6, {.padding_idx = 11}); }),
            "parameter 'weight': shape [11, 6] lacks elements 66 to 72, which are to start at 0");
  EXPECT_EQ(error_of<ShapeError>([&] { nn::Embedding(scope, 11, 6, {.padding_idx = -2}, init::zeros()); }),
            "parameter 'weight': shape [11, 6] lacks elements -12 to -6, which are to start at 0");
}

TEST(Embedding, IndicesThatMayLieOutsideOrAreNoneAreRefused) {
  Tape tape;
  const Var x = input(tape, Shape::per_sample({4}), DType::f32), table = input(tape, Shape{3, 2}, DType::f32);
  EXPECT_EQ(error_of<ShapeError>([&] { gather(table, argmax(x)); }),
            "gather: indices are computed by argmax of 4 values: only 3 are valid");
  EXPECT_THROW(gather(table, x), TypeError);
}

}  // namespace embedding_test
