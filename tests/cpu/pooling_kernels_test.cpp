// Pooling and its adjoints, alone and in parts: equal bits to their specification, which is compared with windows
// written out.
#include <gtest/gtest.h>

#include <gradual/core/cpu/pooling.hpp>

#include "../kernels.hpp"

namespace pooling_kernels_test {

using namespace gradual;
using namespace kernels;

/// Returns numbers with ties, zeros of both signs, infinities and NaN among them.
std::vector<float> uneven(std::int64_t count, unsigned seed) {
  std::vector<float> values = numbers<float>(count, seed);
  constexpr float special[] = {0.0f,
                               -0.0f,
                               0.5f,
                               0.5f,
                               std::numeric_limits<float>::infinity(),
                               -std::numeric_limits<float>::infinity(),
                               std::numeric_limits<float>::quiet_NaN()};
  for (std::size_t i = 0; i < values.size(); i += 3) values[i] = special[i / 3 * (i / 21 + 1) % 7];
  return values;
}

const auto axis = [](std::int64_t in, std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
  return ConvolutionAxis{in, kernel, (in + 2 * padding - kernel) / stride + 1, stride, 1, padding};
};
const Pooling poolings[] = {{axis(8, 2, 2, 0), axis(14, 2, 2, 0)},  {axis(4, 2, 2, 0), axis(64, 2, 2, 0)},
                            {axis(2, 2, 2, 0), axis(34, 2, 2, 0)},  {axis(7, 2, 2, 0), axis(9, 2, 2, 0)},
                            {axis(6, 3, 2, 1), axis(9, 3, 2, 1)},   {axis(5, 3, 1, 1), axis(20, 2, 1, 0)},
                            {axis(11, 4, 3, 2), axis(10, 4, 3, 2)}, {axis(6, 2, 2, 1), axis(6, 2, 2, 1)},
                            {axis(6, 2, 2, 0), axis(7, 3, 2, 1)},   {axis(6, 2, 2, 0), axis(6, 2, 1, 0)},
                            {axis(6, 2, 1, 0), axis(6, 2, 2, 0)},   {axis(6, 1, 2, 0), axis(6, 1, 2, 0)},
                            {axis(3, 1, 1, 0), axis(16, 4, 4, 0)},  {axis(6, 3, 1, 1), axis(9, 1, 1, 0)},
                            {axis(5, 3, 1, 1), axis(11, 8, 2, 4)}};

/// Runs a kernel in one and in three parts of the planes and compares its outputs.
template <class Run>
void expect_planes(const Pooling& p, const std::vector<float>& expected, Run run) {
  for (const int parts : {1, 3}) {
    Memory<float> out(static_cast<std::int64_t>(expected.size()));
    for (int part = 0; part < parts; ++part) {
      Memory<float> space(cpu::pooling_workspace(p));
      run(out.data(), space.data(), cpu::Part{part, parts});
      EXPECT_TRUE(space.kept_inside());
    }
    EXPECT_TRUE(out.kept_inside());
    EXPECT_EQ(first_difference(out, expected), -1) << "kernel " << p.y.kernel << " x " << p.x.kernel << " on " << p.y.in
                                                   << " x " << p.x.in << ", " << parts << " parts";
  }
}

TEST(PoolingKernels, HaveTheBitsOfTheirSpecification) {
  for (const Pooling& p : poolings) {
    constexpr std::int64_t planes = 4;
    const std::int64_t in = p.pixels(), out = p.positions();
    const Operand<float> x(uneven(planes * in, 1)), g(uneven(planes * out, 2)), h(uneven(planes * in, 3));
    std::vector<float> largest, spread, gathered;
    for (std::int64_t plane = 0; plane < planes; ++plane)
      for (std::int64_t i = 0; i < out; ++i) largest.push_back(p.largest(x.data() + plane * in, i));
    const Operand<float> y(largest);
    for (std::int64_t plane = 0; plane < planes; ++plane) {
      const float *image = x.data() + plane * in, *pooled = y.data() + plane * out;
      for (std::int64_t i = 0; i < in; ++i) spread.push_back(p.spread(image, pooled, g.data() + plane * out, i));
      for (std::int64_t i = 0; i < out; ++i) gathered.push_back(p.gathered(image, pooled, h.data() + plane * in, i));
    }
    expect_planes(p, largest, [&](float* to, float* space, cpu::Part part) {
      cpu::max_pool(p, x.data(), to, planes, space, part);
    });
    expect_planes(p, spread, [&](float* to, float* space, cpu::Part part) {
      cpu::max_pool_spread(p, g.data(), x.data(), y.data(), to, planes, space, part);
    });
    expect_planes(p, gathered, [&](float* to, float*, cpu::Part part) {
      cpu::max_pool_gather(p, h.data(), x.data(), y.data(), to, planes, part);
    });
  }
}

TEST(PoolingKernels, TheSpecificationIsThatOfWindowsWrittenOut) {
  for (const Pooling& p : poolings) {
    std::vector<float> x = numbers<float>(p.pixels(), 1);
    for (float& v : x) v = static_cast<float>(static_cast<int>(4 * v));  // with ties
    const std::vector<float> g = numbers<float>(p.positions(), 2);
    std::vector<double> spread(x.size(), 0);
    std::vector<float> largest;
    for (std::int64_t i = 0; i < p.y.out; ++i)
      for (std::int64_t j = 0; j < p.x.out; ++j) {
        std::vector<std::size_t> places;
        for (std::int64_t row = i * p.y.stride - p.y.before; row < i * p.y.stride - p.y.before + p.y.kernel; ++row)
          for (std::int64_t column = j * p.x.stride - p.x.before; column < j * p.x.stride - p.x.before + p.x.kernel;
               ++column)
            if (row >= 0 && column >= 0 && row < p.y.in && column < p.x.in)
              places.push_back(static_cast<std::size_t>(row * p.x.in + column));
        float most = x[places[0]];
        for (const std::size_t at : places) most = std::max(most, x[at]);
        std::vector<std::size_t> ties;
        for (const std::size_t at : places)
          if (x[at] == most) ties.push_back(at);
        for (const std::size_t at : ties)
          spread[at] += static_cast<double>(g[largest.size()]) / static_cast<double>(ties.size());
        largest.push_back(most);
        EXPECT_EQ(p.largest(x.data(), static_cast<std::int64_t>(largest.size()) - 1), most);
      }
    for (std::size_t i = 0; i < x.size(); ++i)
      EXPECT_NEAR(static_cast<double>(p.spread(x.data(), largest.data(), g.data(), static_cast<std::int64_t>(i))),
                  spread[i], 1e-6);
  }
}

}  // namespace pooling_kernels_test
