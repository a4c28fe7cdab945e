// A plan as a picture: the picture shows what is planned.
#include <gtest/gtest.h>

#include <gradual/gradual.hpp>
#include <regex>

namespace timeline_test {

using namespace gradual;

/// A layer whose name must be escaped in XML.
struct Named {
  nn::Linear inner, middle, outer;
  constexpr explicit Named(Scope s)
      : inner(s / "a<b & c", 7, 40), middle(s / "middle", 40, 40), outer(s / "outer", 40, 3) {}
  constexpr Loss loss(Var x, Var y) const {
    const Var h = tanh(inner(x));
    return {mse(outer(tanh(middle(tanh(middle(h * h))))), y)};
  }
};
using Net = Compiled<Named, Inputs<f32[7], f32[3]>>;
constexpr auto optimizer = Accumulate{ClipByGlobalNorm{Adam{}}};
constexpr std::int64_t batch = 100;

/// A bar, as described by its rectangle and its text.
struct Bar {
  double x, y, width, height;
  std::string what;
  long long bytes, offset;
  int begin, end;
};

std::vector<Bar> bars_of(const std::string& svg) {
  static const std::regex pattern(
      R"re(<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"[^>]*><title>(.*): ([\d ]+) B at ([\d ]+), kernels (\d+) to (\d+), )re");
  const auto number = [](std::string text) {
    std::erase(text, ' ');
    return std::stoll(text);
  };
  std::vector<Bar> bars;
  for (auto m = std::sregex_iterator(svg.begin(), svg.end(), pattern); m != std::sregex_iterator(); ++m)
    bars.push_back({std::stod((*m)[1]), std::stod((*m)[2]), std::stod((*m)[3]), std::stod((*m)[4]), (*m)[5],
                    number((*m)[6]), number((*m)[7]), std::stoi((*m)[8]), std::stoi((*m)[9])});
  return bars;
}

/// Returns whether every element is closed, and angle brackets enclose elements only.
bool well_formed(const std::string& svg) {
  static const std::regex token(R"(<(/?)([a-z]+)[^<>]*?(/?)>|[<>]|&(?!(amp|lt|gt);))");
  std::vector<std::string> open;
  for (auto m = std::sregex_iterator(svg.begin(), svg.end(), token); m != std::sregex_iterator(); ++m) {
    if (!(*m)[2].matched) return false;
    if ((*m)[1].length() == 0 && (*m)[3].length() == 0) open.push_back((*m)[2]);
    if ((*m)[1].length() == 0) continue;
    if (open.empty() || open.back() != (*m)[2]) return false;
    open.pop_back();
  }
  return open.empty();
}

template <class N, class Optimizer = decltype(optimizer)>
void expect_as_planned(const Planning& planning, const Optimizer& with = optimizer) {
  using P = typename N::Training;
  using Update = typename N::template UpdateOf<RuleOf<std::remove_const_t<Optimizer>>>;
  const MemoryTable table = N::training_memory(with, batch, planning);
  const std::string svg = timeline_svg<N>(with, batch, planning);
  EXPECT_TRUE(well_formed(svg));
  for (const std::int64_t bytes : {table.total(), table.persistent(), table.transient(), P::plan.lower_bound(batch)})
    EXPECT_NE(svg.find(detail::grouped(bytes) + " B"), std::string::npos) << bytes;

  const std::vector<Bar> bars = bars_of(svg);
  int updates = Update::plan.count;
  for (int i = 0; i < Update::nodes; ++i) updates += Update::tables.is_derived(i);  // derived numbers of an update
  EXPECT_EQ(static_cast<int>(bars.size()), P::plan.count + updates + (table.inputs > 0 ? 1 : 0) + (table.workspace > 0 ? 1 : 0));
  const Bar& largest = *std::ranges::max_element(bars, {}, &Bar::bytes);
  const double scale = largest.height / static_cast<double>(largest.bytes);  // pixels per byte
  long long highest = 0;
  for (std::size_t a = 0; a < bars.size(); ++a) {
    highest = std::max(highest, bars[a].offset + bars[a].bytes);
    EXPECT_NEAR(bars[a].height, scale * static_cast<double>(bars[a].bytes), 0.2) << bars[a].what;
    EXPECT_NEAR(bars[a].y + bars[a].height + scale * static_cast<double>(bars[a].offset),
                bars[0].y + bars[0].height + scale * static_cast<double>(bars[0].offset), 0.5)
        << bars[a].what;
    for (std::size_t b = 0; b < a; ++b) {
      const bool together = bars[a].begin <= bars[b].end && bars[b].begin <= bars[a].end;
      const bool over =
          bars[a].offset < bars[b].offset + bars[b].bytes && bars[b].offset < bars[a].offset + bars[a].bytes;
      EXPECT_FALSE(together && over) << bars[a].what << " and " << bars[b].what;
      const bool apart = bars[a].x > bars[b].x + bars[b].width - 0.2 || bars[b].x > bars[a].x + bars[a].width - 0.2;
      EXPECT_EQ(together, !apart) << bars[a].what << " and " << bars[b].what;
    }
  }
  EXPECT_EQ(highest, table.transient());
}

TEST(Timeline, DrawsEveryBufferAtItsPlace) {
  expect_as_planned<Net>({});
  expect_as_planned<Net>({.gather = true});
  expect_as_planned<Net>({}, Accumulate{Adam{}});  // whose derived numbers have their own places
}

TEST(Timeline, ShowsWhatIsComputedAgain) {
  expect_as_planned<Net::Keeping<20>>({.gather = true});
  EXPECT_EQ(timeline_svg<Net>(optimizer, batch).find("computed again"), std::string::npos);
  const std::string saving = timeline_svg<Net::Keeping<20>>(optimizer, batch);
  EXPECT_NE(saving.find("<title>a&lt;b &amp; c matmul"), std::string::npos);
  EXPECT_NE(saving.find("computed again</title>"), std::string::npos);
}

TEST(Timeline, RefusesABatchThatIsNone) { EXPECT_THROW(timeline_svg<Net>(optimizer, 0), OptionError); }

TEST(Repeats, AreTheForwardNodesThatBackwardComputesAgain) {
  const auto& plain = Net::Training::graph;
  for (const int original : find_repeats(plain.nodes, plain.first_adjoint)) EXPECT_EQ(original, -1);
  const auto& saving = Net::Keeping<20>::Training::graph;
  const std::vector<int> repeats = find_repeats(saving.nodes, saving.first_adjoint);
  int count = 0;
  for (std::size_t i = 0; i < std::size(saving.nodes); ++i) {
    if (repeats[i] < 0) continue;
    ++count;
    EXPECT_STREQ(saving.nodes[i].op->name, saving.nodes[repeats[i]].op->name);
    EXPECT_LT(repeats[i], saving.first_adjoint);
  }
  EXPECT_GT(count, 0);
  EXPECT_EQ(count, static_cast<int>(std::size(saving.nodes) - std::size(plain.nodes)));
}

}  // namespace timeline_test
