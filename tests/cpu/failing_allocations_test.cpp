// Case 15: the n-th allocation fails, for every n, once and for ever, in construction, in steps and in saving. This ends
// in a typed error or in a result; nothing is leaked, and a second attempt gives the same bits, dropout included.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>

#include "../count_allocations.hpp"
#include "../models.hpp"

namespace failing_allocations_test {

using namespace models;

constexpr auto optimizer = Accumulate{ClipByGlobalNorm{Adam{.learning_rate = 0.01f}}};
using Drops = Session<DroppedNet, Accumulate<ClipByGlobalNorm<Adam>>>;

/// Calls f() with its n-th allocation failing, and all later ones if `for_ever`. Returns whether it ended in a
/// MemoryError; any other error fails the test.
bool refused(std::int64_t n, bool for_ever, const std::function<void()>& f) {
  fails_for_ever = for_ever;
  failing_allocation = allocations + n;
  bool result = false;
  try {
    f();
  } catch (const MemoryError& error) {
    failing_allocation = none;
    EXPECT_STRNE(error.what(), "");
    result = true;
  }
  failing_allocation = none;
  return result;
}

std::int64_t allocations_of(const std::function<void()>& f) {
  const std::int64_t before = allocations;
  f();
  return allocations - before;
}

int open_files() {
  int count = 0;
  for (int file = 0; file < 256; ++file) count += ::lseek(file, 0, SEEK_CUR) >= 0 || errno != EBADF;
  return count;
}

struct FailingAllocations : testing::Test {
  const std::vector<float> x = numbers(300 * 9);
  const std::vector<std::int32_t> y = labels(300, 5);
  const SessionOptions options{.global_batch = 256, .micro_batch = 60, .seed = 5, .threads = 3, .freeze = {"output/*"}};
  const std::string folder =
      (std::filesystem::temp_directory_path() / ("gradual_faults_" + std::to_string(::getpid()))).string();
  const std::string file = folder + "/state";
  FailingAllocations() { std::filesystem::create_directory(folder); }
  ~FailingAllocations() override { std::filesystem::remove_all(folder); }

  std::vector<std::byte> trained() const {
    Drops session(DroppedNet{}, optimizer, options);
    for (int i = 0; i < 3; ++i) session.accumulate(x, y);
    return bytes_of(session);
  }
  static std::vector<std::byte> bytes_of(const Drops& session) {
    std::vector<std::byte> all(session.parameter_bytes().begin(), session.parameter_bytes().end());
    all.insert(all.end(), session.optimizer_state_bytes().begin(), session.optimizer_state_bytes().end());
    return all;
  }
};

TEST_F(FailingAllocations, InConstructionAndSteps) {
  const std::vector<std::byte> undisturbed = trained();
  const auto construct = [&] { Drops session(DroppedNet{}, optimizer, options); };
  const std::int64_t total = allocations_of(construct);
  ASSERT_GT(total, 4);
  const std::int64_t baseline = live_bytes;
  for (const bool for_ever : {false, true})
    for (std::int64_t n = 0; n < total; ++n) {
      EXPECT_TRUE(refused(n, for_ever, construct)) << n;
      EXPECT_EQ(live_bytes, baseline) << n;
    }
  EXPECT_EQ(differing_bits(undisturbed, trained()), 0);

  Drops session(DroppedNet{}, optimizer, options);  // steps need no memory: they go on while none is to be had
  EXPECT_FALSE(refused(0, true, [&] {
    for (int i = 0; i < 3; ++i) session.accumulate(x, y);
  }));
  EXPECT_EQ(differing_bits(undisturbed, bytes_of(session)), 0);
}

TEST_F(FailingAllocations, InPlanningAgain) {
  const std::vector<std::byte> undisturbed = trained();
  for (const bool for_ever : {false, true}) {
    const std::int64_t baseline = live_bytes;
    {
      Drops session(DroppedNet{}, optimizer, options);
      const std::int64_t plenty = session.memory().total();
      for (int i = 0; i < 3; ++i) {
        refused(0, for_ever, [&] { session.set_budget(i % 2 == 0 ? plenty * 2 / 3 : plenty); });
        const auto first = [&] { session.accumulate(std::span(x).first(100 * 9), std::span(y).first(100)); };
        if (refused(0, for_ever, first)) first();  // it allocates before anything else
        session.accumulate(std::span(x).subspan(100 * 9), std::span(y).subspan(100));
      }
      EXPECT_EQ(session.step_count(), 3);
      EXPECT_EQ(differing_bits(undisturbed, bytes_of(session)), 0);
    }
    EXPECT_EQ(live_bytes, baseline);
  }
}

/// Expects f, with each of its allocations failing in turn, to end in a MemoryError and to leave no memory, no open file
/// and nothing beside `file`, whose content stays.
void expect_clean_failures(const std::string& file, const std::function<void()>& f) {
  f();
  const std::int64_t total = allocations_of(f);
  const std::string content = read_file(file);
  const int files = open_files();
  for (const bool for_ever : {false, true})
    for (std::int64_t n = 0; n < total; ++n) {
      const std::int64_t baseline = live_bytes;
      EXPECT_TRUE(refused(n, for_ever, f)) << n;
      EXPECT_EQ(live_bytes, baseline) << n;
      EXPECT_EQ(open_files(), files) << n;
      EXPECT_EQ(read_file(file), content) << n;
      EXPECT_EQ(std::distance(std::filesystem::directory_iterator(std::filesystem::path(file).parent_path()), {}), 1)
          << n;
    }
}

TEST_F(FailingAllocations, InSavingAndLoading) {
  Drops session(DroppedNet{}, optimizer, options), other(DroppedNet{}, optimizer, options);
  session.accumulate(x, y);  // ends inside a window
  expect_clean_failures(file, [&] { session.save_state(file); });
  const std::vector<std::byte> before = bytes_of(other);
  const std::int64_t total = allocations_of([&] { Drops(DroppedNet{}, optimizer, options).load_state(file); });
  for (std::int64_t n = 0; n < total; ++n)
    if (refused(n, n % 2 == 0, [&] { other.load_state(file); })) {
      EXPECT_EQ(differing_bits(before, bytes_of(other)), 0) << n;
      EXPECT_EQ(other.position(), 0) << n;
    } else {
      break;
    }
  other.load_state(file);
  session.accumulate(x, y), other.accumulate(x, y);
  EXPECT_EQ(differing_bits(bytes_of(session), bytes_of(other)), 0);
}

TEST_F(FailingAllocations, InFilesOfParametersAndInferences) {
  const Drops session(DroppedNet{}, optimizer, options);
  expect_clean_failures(file, [&] { save_parameters(file, session.parameters()); });
  expect_clean_failures(file, [&] { load(file); });
  const Checkpoint parameters = load(file);
  expect_clean_failures(file, [&] { Inference<DroppedNet>(parameters, 8); });
  Drops predicts(DroppedNet{}, optimizer, options);
  expect_clean_failures(file, [&] { predicts.predict(x); });
  std::ofstream(file) << "1,2\n3,4\n";
  expect_clean_failures(file, [&] { read_csv(file); });
}

TEST_F(FailingAllocations, InATrainer) {
  using Data = Dataset<float, std::int32_t>;
  const Data data{x, y};
  const TrainerOptions how{.global_batch = 128, .seed = 2};
  const FitOptions<Data> once{.epochs = 1, .validate = data.subset(0, 50), .patience = 3, .progress = Progress::never};
  using Trains = Trainer<DroppedNet, Accumulate<ClipByGlobalNorm<Adam>>>;
  Trains undisturbed(DroppedNet{}, optimizer, how);
  const std::int64_t total = allocations_of([&] { undisturbed.fit(data, once); });
  for (const bool for_ever : {false, true})
    for (std::int64_t n = 0; n < total; ++n) {
      Trains trainer(DroppedNet{}, optimizer, how);
      const std::int64_t baseline = live_bytes;
      if (refused(n, for_ever, [&] { trainer.fit(data, once); }) && trainer.epoch() == 0) {
        EXPECT_EQ(live_bytes, baseline) << n;
        trainer.fit(data, once);
      }
      EXPECT_EQ(trainer.epoch(), 1);
      EXPECT_EQ(differing_bits(undisturbed.session().parameter_bytes(), trainer.session().parameter_bytes()), 0) << n;
    }
  expect_clean_failures(file, [&] { undisturbed.save(file); });
  expect_clean_failures(file, [&] { undisturbed.save_state(file); });
}

}  // namespace failing_allocations_test
