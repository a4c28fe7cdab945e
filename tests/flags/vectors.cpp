// Vectors of any width give the bits of the reference, in each kind of kernel.
#include "compiled_against_reference.hpp"

using namespace against_reference;

namespace {

TEST(Vectors, ProductsLoopsAndDropout) {
  const auto x = numbers(samples * 9);
  const auto y = labels(samples, 5);
  expect_equal_bits<DroppedNet>({x, {y.begin(), y.end()}}, std::span(x), std::span(y));
}

TEST(Vectors, TablesAttentionAndRows) {
  const auto x = labels(samples * 7, 11), y = labels(samples * 7, 11);
  expect_equal_bits<TokensNet>({{x.begin(), x.end()}, {y.begin(), y.end()}}, std::span(x), std::span(y));
}

TEST(Vectors, SumsOfSeveralUses) {
  const auto x = numbers(samples * 108), y = numbers(samples * 2, 2);
  expect_equal_bits<SharedNet>({x, y}, std::span(x), std::span(y));
}

TEST(Vectors, ConvolutionsAndPooling) {
  const auto x = numbers(samples * 2 * 16 * 12);
  const auto y = labels(samples, 5);
  expect_equal_bits<ConvolutionalNet>({x, {y.begin(), y.end()}}, std::span(x), std::span(y));
}

}  // namespace
