// The guide to memory shows the tables that the library prints and the picture that it draws.
#include <gtest/gtest.h>

#include <filesystem>

#include "../../examples/07-memory/model.hpp"

namespace guide_test {

using namespace deep;

const std::filesystem::path docs = std::filesystem::path(__FILE__).parent_path() / "../../docs";
constexpr Planning as_trainer{.gather = true};

struct Guide : testing::Test {
  void SetUp() override {
    if (Net::training_memory(optimizer, 1).workspace != 16384)
      GTEST_SKIP() << "this processor's kernels need another workspace";
  }
};

TEST_F(Guide, ShowsTheTablesThatArePrinted) {
  const std::string guide = read_file((docs / "guides/how-much-memory.md").string());
  for (const std::string& table :
       {memory_by_batch<Net>(optimizer, {1, 8, 64, 128, 512}, as_trainer), memory_by_shadow<Net>(optimizer, 64, as_trainer),
        ways_to_train(Net::KeepingOneOf<100, 85, 70, 50>{}, optimizer, 2200_KiB, {64, 256, 1024}, as_trainer)})
    EXPECT_NE(guide.find(table), std::string::npos) << table;
}

TEST_F(Guide, ShowsThePictureThatIsDrawn) {
  EXPECT_TRUE(read_file((docs / "memory-timeline.svg").string()) ==
              timeline_svg<Net::Keeping<50>>(optimizer, 512, as_trainer))
      << "tools/plan --timeline > docs/memory-timeline.svg";
}

}  // namespace guide_test
