// The README's table of ops and layers against the headers: what it names is there, and what is there is named.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>

#include <gradual/autodiff/ops.hpp>
#include <gradual/train/read_file.hpp>

namespace readme_test {

using namespace gradual;

const std::filesystem::path root = std::filesystem::path(__FILE__).parent_path() / "../..";

std::set<std::string> all_matches(const std::string& text, const char* pattern) {
  std::set<std::string> found;
  const std::regex expression(pattern);
  for (std::sregex_iterator i(text.begin(), text.end(), expression), end; i != end; ++i) found.insert((*i)[1]);
  return found;
}

std::string headers_of(const char* folder) {
  std::string text;
  for (const auto& entry : std::filesystem::directory_iterator(root / "include/gradual" / folder))
    text += read_file(entry.path().string());
  return text;
}

/// The words of a row whose first cell begins with `title`; of all rows for "".
std::set<std::string> named(const std::string& title) {
  const std::string readme = read_file((root / "README.md").string());
  const std::size_t begin = readme.find("## Ops and layers"),
                    end = readme.find("\n\n", readme.find("|---|---|", begin));
  std::set<std::string> words;
  for (const std::string& row : all_matches(readme.substr(begin, end - begin), "(\\| [^\n]*)"))
    if (row.starts_with("| " + title)) words.merge(all_matches(row, "`([A-Za-z_0-9]+)`"));
  return words;
}

TEST(Readme, NamesOpsThatThereAre) {
  std::set<std::string> there =
      all_matches(headers_of("autodiff/ops") + read_file((root / "include/gradual/autodiff/tap.hpp").string()) +
                      read_file((root / "include/gradual/autodiff/gradients.hpp").string()),
                  "constexpr [A-Za-z:<>, ]+ ([a-z_0-9]+)\\(");
  std::set<std::string> words = named("");
  for (const std::string& layer : named("layers")) words.erase(layer);
  EXPECT_GT(words.size(), 50u);
  const std::string guide = read_file((root / "docs/guides/write-a-model.md").string());
  for (const std::string& word : words) {
    EXPECT_TRUE(word == "nn" || there.contains(word)) << word;
    EXPECT_NE(guide.find(word), std::string::npos) << word << " has no call in the guide to writing models";
  }
}

TEST(Readme, NamesEveryOp) {
  const std::set<std::string> words = named("");
  const std::set<std::string> by_sign = {"add",    "subtract", "multiply", "divide",
                                         "negate", "equal",    "less",     "less_equal"},
                              inside_rules = {"strong_divide", "strong_mul", "quotient", "flush_subnormal", "from_integer"};
  const auto expect = [&]<class... Op>(OpList<Op...>) {
    for (const std::string name : {Op::name...})
      EXPECT_TRUE(words.contains(name) || by_sign.contains(name) || inside_rules.contains(name)) << name;
  };
  expect(MapOps{});
  expect(RowOps{});
  expect(OpList<Broadcast, Conv2d, Gather, Iota, Matmul, MaxPool2d, Pad, Reshape, Slice, Transpose>{});
}

TEST(Headers, HaveNoOpThatIsNotInTheList) {  // which tests sweep
  const std::set<std::string> there = all_matches(headers_of("autodiff/ops"), "char\\* name = \"([a-z_0-9]+)\"");
  EXPECT_EQ(static_cast<int>(there.size()), EveryOp::size);
  for (const OpInfo* op : EveryOp::info) EXPECT_TRUE(there.contains(op->name)) << op->name;
}

TEST(Readme, NamesTheLayers) {
  std::set<std::string> there = all_matches(headers_of("nn"), "\n(?:class|struct|using) ([A-Za-z0-9]+) (?:\\{|=)");
  there.erase("Kernels");  // what convolutions have in common
  const std::set<std::string> words = named("layers");
  EXPECT_GT(there.size(), 10u);
  for (const std::string& layer : there) EXPECT_TRUE(words.contains(layer)) << layer;
  for (const std::string& word : words) EXPECT_TRUE(word == "nn" || there.contains(word)) << word;
}

}  // namespace readme_test
