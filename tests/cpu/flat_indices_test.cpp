// Case 29: more than 2³¹ elements in one value, the last of which is found. They are pages of zeros without physical
// memory, or exist only inside a fused loop.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <gradual/gradual.hpp>

namespace flat_indices_test {

using namespace gradual;

constexpr std::int64_t width = 32771, rows = 65537;
static_assert(width * rows > std::int64_t{1} << 31);

/// The largest element of each row: the last one, where the weight is largest.
struct Last {
  Parameter weight;
  constexpr explicit Last(Scope s) : weight(s.parameter("weight", Shape{width}, init::constant(1))) {}
  constexpr Var predict(Var x) const { return max(x * weight, {1}); }
  constexpr Loss loss(Var x) const { return Loss(predict(x)); }
};

/// `elements` floats, which take no memory before they are written.
struct Zeros {
  std::size_t bytes;
  void* at;
  explicit Zeros(std::int64_t elements)
      : bytes(static_cast<std::size_t>(elements) * sizeof(float)),
        at(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (at != MAP_FAILED) madvise(at, bytes, MADV_HUGEPAGE);
  }
  ~Zeros() {
    if (at != MAP_FAILED) munmap(at, bytes);
  }
};

TEST(FlatIndices, OfSamplesInMemory) {
  const Zeros zeros(width * rows);
  if (zeros.at == MAP_FAILED) GTEST_SKIP() << "this system does not map " << zeros.bytes << " B";
  const std::span x(static_cast<float*>(zeros.at), static_cast<std::size_t>(width * rows));
  x.back() = 3;
  EagerTape tape(Device::cpu(), rows);
  const Tensor largest = value(max(tape.input(std::span<const float>(x), {width}), {1}));
  EXPECT_EQ(largest[rows - 2], 0);
  EXPECT_EQ(largest[rows - 1], 3);
}

TEST(FlatIndices, InsideAFusedLoop) {
  std::vector<float> x(rows), weight(width), y(rows);
  x.back() = 3;
  weight.back() = 2;
  Inference<Compiled<Last, Inputs<f32[1]>>> net(std::span<const float>(weight), rows);
  net(x, y);
  EXPECT_EQ(y[rows - 2], 0);
  EXPECT_EQ(y[rows - 1], 6);
}

}  // namespace flat_indices_test
