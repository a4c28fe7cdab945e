// The README's code, and the bytes that it quotes.
#include <algorithm>
#include <sstream>
#include <string>

#include "../documented.hpp"
#include "../error_of.hpp"

namespace documented_readme_test {

using namespace documented;

struct Positions {
  Parameter table;
  constexpr explicit Positions(Scope s) : table(s.parameter("table", Shape{16, 32}, init::normal(0.1))) {}
  constexpr Var operator()(Var x) const { return x + table; }
};

TEST_F(Documented, Optimizers) {
  constexpr auto clipped = Accumulate{ClipByGlobalNorm{AdamW{.learning_rate = 3e-4f, .weight_decay = 0.1f}, 1.0f}};
  constexpr auto scaled = Accumulate{LossScale{Adam{}, {.start = 1024, .double_after = 0}}};
  EXPECT_EQ(Session(Net{}, scaled, {.global_batch = 64}).loss_scale(), 1024);
  EXPECT_EQ(Net::training_memory(clipped, 64).optimizer_state, Net::training_memory(optimizer, 64).optimizer_state);
  Trainer with(Net{}, optimizer, {.global_batch = 512});
  Trainer without(Net{}, optimizer.inner, {.global_batch = 512});
  with.fit(Dataset(images, labels), {.epochs = 2});
  without.fit(Dataset(images, labels), {.epochs = 2});
  EXPECT_TRUE(std::ranges::equal(with.parameters().values(), without.parameters().values())) << "a rule without Accumulate";
}

using DeepNet = Net;
TEST_F(Documented, Memory) {
  constexpr Planning as_trainer{.gather = true};
  constexpr auto table = Net::training_memory(optimizer, 64, as_trainer);
  constexpr auto most = Net::largest_batch(optimizer, 256_KiB, as_trainer);
  constexpr auto part = Net::micro_batch(optimizer, 512, 256_KiB, Prefer::largest, as_trainer);
  using Deep = WithinBudget<DeepNet, Accumulate<Adam>, 128, 8_MiB>;
  static_assert(Deep::kept == 100 && table.total() > 256_KiB);
  EXPECT_EQ(most.batch, planned(68, 74, 77));
  EXPECT_EQ(part, planned(39, 46, 49));
}

TEST_F(Documented, BytesOfTheReadme) {
  constexpr Planning as_trainer{.gather = true};
  if (planned(1, 0, 0) == 0) GTEST_SKIP() << "the README quotes the plans of AVX-512";
  const std::string readme = read_file((root / "README.md").string());
  const auto expect = [&](const std::string& text) { EXPECT_NE(readme.find(text), std::string::npos) << text; };
  Trainer trainer(Net{}, optimizer, {.global_batch = 512, .memory_budget = 256_KiB});
  std::ostringstream table;
  table << trainer.session().memory();
  expect("in a budget of 262144 B:\n" + table.str());
  const LargestBatch most = Net::largest_batch(optimizer, 256_KiB, as_trainer);
  expect("// .batch = " + std::to_string(most.batch) + "; " + std::to_string(most.batch + 1) + " need " +
         gradual::detail::grouped(most.bytes_for_one_more) + " bytes\n");
  expect("// " + std::to_string(trainer.session().options().micro_batch) + ", as above\n");

  const std::string error = error_of<MemoryError>(
      [] { Trainer(Net{}, optimizer, {.global_batch = 512, .micro_batch = 256, .memory_budget = 256_KiB}); });
  const std::size_t begin = readme.find("training needs ");
  std::string shown = readme.substr(begin, readme.find("\n```", begin) - begin);
  std::size_t at = 0;
  for (std::size_t end = 0; end != std::string::npos; shown = shown.substr(std::min(shown.size(), end + 3))) {
    end = shown.find("...");  // what is left out
    at = error.find(shown.substr(0, end), at);
    ASSERT_NE(at, std::string::npos) << shown << "\nis not in\n" << error;
  }
}

}  // namespace documented_readme_test
