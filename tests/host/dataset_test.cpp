// Data sets are views: their parts lie in the caller's memory, in the caller's order.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numeric>
#include <ranges>
#include <vector>

#include <gradual/train/dataset.hpp>

namespace dataset_test {

using namespace gradual;

struct Datasets : testing::Test {
  std::vector<float> images = std::vector<float>(40);  // 10 samples of 4 values
  std::vector<std::int32_t> labels = std::vector<std::int32_t>(10);
  Datasets() {
    std::iota(images.begin(), images.end(), 0.0f);
    std::iota(labels.begin(), labels.end(), 100);
  }
};

TEST_F(Datasets, TakesAnyContiguousRange) {
  EXPECT_EQ(Dataset(images, labels).size(), 10);
  EXPECT_EQ(Dataset(std::span<const float>(images), std::span<const std::int32_t>(labels)).size(), 10);
  const std::array<float, 6> x{};
  const std::array<float, 3> y{};
  const std::array<float, 3> weight{};
  EXPECT_EQ(Dataset(x, y, weight).size(), 3);
  const float pixels[] = {1, 2, 3, 4};
  std::int32_t kinds[2] = {};
  const Dataset arrays(pixels, kinds);
  static_assert(std::is_same_v<decltype(arrays), const Dataset<float, std::int32_t>>);
  EXPECT_EQ(arrays.size(), 2);
  arrays.apply([&](auto first, auto second) {
    EXPECT_EQ(first.data(), pixels);
    EXPECT_EQ(second.data(), kinds);
  });
}

TEST_F(Datasets, SplitGivesViewsInOrder) {
  const auto [first, rest] = Dataset(images, labels).split(0.8);
  EXPECT_EQ(first.size(), 8);
  EXPECT_EQ(rest.size(), 2);
  const float* begin = images.data();
  rest.apply([&](auto x, auto y) {
    EXPECT_EQ(x.data(), begin + 32);
    EXPECT_EQ(x.size(), 8u);
    EXPECT_EQ(y.data(), labels.data() + 8);
    EXPECT_EQ(y.size(), 2u);
  });
  first.apply([&](auto x, auto) { EXPECT_EQ(x.data(), begin); });
}

TEST(Split, GivesThePartThatTheShareSays) {
  const auto first = [](std::int64_t size, auto share) {
    const std::vector<float> x(static_cast<std::size_t>(size));
    const auto [part, rest] = Dataset(x).split(share);
    EXPECT_EQ(part.size() + rest.size(), size);
    return part.size();
  };
  EXPECT_EQ(first(100, 0.29), 29);  // 0.29 * 100 is 28.999999999999996
  EXPECT_EQ(first(10, 0.7f), 7);    // and 0.7f is less than 0.7
  EXPECT_EQ(first(100, 0.29L), 29);
  EXPECT_EQ(first(1797, 0.8), 1437);
  EXPECT_EQ(first(3, 0.999), 2);
  EXPECT_EQ(first(2, 0.5), 1);
  for (const std::int64_t size : {3, 7, 100, 1000, 12345})
    for (std::int64_t count = 1; count < size; count += size > 1000 ? 7 : 1) {
      ASSERT_EQ(first(size, static_cast<double>(count) / static_cast<double>(size)), count);
      ASSERT_EQ(first(size, static_cast<float>(count) / static_cast<float>(size)), count);
    }
}

TEST(Split, RefusesAShareThatLeavesAPartEmpty) {
  const std::vector<float> x(10);
  for (const double share : {0.0, -0.5, 0.0999, 1.0, 1.5, 1e300, double(INFINITY), double(NAN)})
    EXPECT_THROW(Dataset(x).split(share), DataError) << share;
  EXPECT_EQ(Dataset(x).split(0.1).first.size(), 1);
  EXPECT_EQ(Dataset(x).split(0.999).second.size(), 1);
}

TEST_F(Datasets, ASplitOfASplitKeepsTheWidth) {
  const auto [first, rest] = Dataset(images, labels).split(0.5);
  const auto [inner, last] = rest.split(0.4);
  inner.apply([&](auto x, auto y) {
    EXPECT_EQ(x.data(), images.data() + 20);
    EXPECT_EQ(x.size(), 8u);
    EXPECT_EQ(y.front(), 105);
  });
  EXPECT_EQ(last.size(), 3);
}

TEST_F(Datasets, BatchesCoverEverySampleOnce) {
  const Dataset data(images, labels);
  for (const std::int64_t size : {1, 3, 5, 10, 64}) {
    std::int64_t seen = 0;
    for (auto [x, y] : data.batches(size)) {
      ASSERT_EQ(static_cast<std::int64_t>(y.size()), std::min(size, 10 - seen)) << size;
      ASSERT_EQ(x.size(), 4 * y.size());
      EXPECT_EQ(x.data(), images.data() + 4 * seen);
      EXPECT_EQ(y.front(), 100 + seen);
      seen += static_cast<std::int64_t>(y.size());
    }
    EXPECT_EQ(seen, 10) << size;
  }
}

TEST_F(Datasets, BatchesAreARangeForAlgorithmsAndViews) {
  using Batches = decltype(Dataset(images, labels).batches(3));
  static_assert(std::ranges::forward_range<Batches> && std::ranges::common_range<Batches>);
  const auto batches = Dataset(images, labels).batches(3);
  EXPECT_EQ(std::ranges::distance(batches), 4);
  std::vector<std::size_t> sizes;
  for (const std::size_t size : batches | std::views::drop(1) | std::views::transform([](const auto& batch) {
                                  return std::get<1>(batch).size();
                                }))
    sizes.push_back(size);
  EXPECT_EQ(sizes, (std::vector<std::size_t>{3, 3, 1}));
  auto at = batches.begin();
  EXPECT_EQ(std::get<1>(*at++).front(), 100);
  EXPECT_EQ(std::get<1>(*at).front(), 103);
  EXPECT_EQ(std::ranges::next(at, 3), batches.end());
  EXPECT_NE(at, batches.end());
}

TEST_F(Datasets, BatchesOutliveTheDatasetTheyCameFrom) {
  const auto batches = Dataset(images, labels).batches(4);
  const auto [x, y] = *batches.begin();
  EXPECT_EQ(x.data(), images.data());
  EXPECT_EQ(y.size(), 4u);
}

TEST_F(Datasets, SubsetIsAViewOfTheMiddle) {
  const auto part = Dataset(images, labels).subset(3, 2);
  EXPECT_EQ(part.size(), 2);
  part.apply([&](auto x, auto y) {
    EXPECT_EQ(x.data(), images.data() + 12);
    EXPECT_EQ(x.size(), 8u);
    EXPECT_EQ(y.back(), 104);
  });
}

TEST_F(Datasets, SubsetsThatAreNotThereAreRefused) {
  const Dataset data(images, labels);
  for (const auto& [begin, count] : {std::pair{8, 3}, {-1, 2}, {10, 1}, {3, 0}, {3, -1}})
    EXPECT_THROW(data.subset(begin, count), OptionError) << begin << ' ' << count;
  EXPECT_EQ(data.subset(0, 10).size(), 10);
}

TEST_F(Datasets, RefusalsNameTheNumbers) {
  labels.pop_back();
  try {
    Dataset(images, labels);
    FAIL() << "accepted";
  } catch (const DataError& error) {
    EXPECT_STREQ(error.what(), "a data set of 9 samples cannot share 40 values evenly: the last span must have one value for "
                               "each sample; where it has several, tell `Dataset<...>::of` how many samples there are");
  }
  labels.clear();
  EXPECT_THROW(Dataset(images, labels), DataError);
}

}  // namespace dataset_test
