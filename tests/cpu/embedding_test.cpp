// Tables by index: splits, threads, eager and compiled give equal bits; gradients of rows named twice; bad indices.
#include <gtest/gtest.h>

#include "../both_ways.hpp"

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

TEST(Embedding, IndicesThatAreAlsoLabelsMustFitBoth) {
  for (const bool table_first : {true, false}) {
    Tape tape;
    const Var index = input(tape, Shape::per_sample({}), DType::i32), table = input(tape, Shape{3, 2}, DType::f32);
    const Var scores = input(tape, Shape::per_sample({5}), DType::f32);
    if (table_first) gather(table, index);
    cross_entropy(scores, index);
    if (!table_first) gather(table, index);
    EXPECT_EQ(tape.inputs[0].classes, 3);
  }
}

TEST(Embedding, ComputedIndicesAreRefused) {
  Tape tape;
  const Var x = input(tape, Shape::per_sample({3}), DType::f32), table = input(tape, Shape{3, 2}, DType::f32);
  EXPECT_THROW(gather(table, argmax(x)), ShapeError);
  EXPECT_THROW(gather(table, x), TypeError);
}

}  // namespace embedding_test
