// Runs that are killed at any moment, inside steps, inside saves and while they resume, 200 times: every file they leave is,
// to the bit, a state of the undisturbed run, and every run that finishes has its result.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <map>

#include "../models.hpp"

namespace killed_runs_test {

using namespace models;

constexpr int epochs = 4, kills = 200;
constexpr std::int64_t samples = 150;
const auto x = numbers(samples * 9);
const auto y = labels(samples, 5);
constexpr auto optimizer = Accumulate{Ema{ClipByGlobalNorm{AdamW{.learning_rate = schedule::cosine(0.02, 20, 3)}, 1.0}, 0.9}};

/// Returns a folder with fast files: the test is about killed processes, not disks.
std::filesystem::path folder() {
  const std::filesystem::path memory = "/dev/shm";
  const auto base = ::access(memory.c_str(), W_OK) == 0 ? memory : std::filesystem::temp_directory_path();
  return base / ("gradual_killed_" + std::to_string(::getpid()));
}

/// What a run is doing, in memory that its killer sees.
enum Doing : int { beginning, training, saving, doings };

/// Trains, from the file if there is one, and calls saved() after saving each micro-batch.
template <class Saved>
void run(const std::string& file, std::int64_t micro_batch, volatile int* doing, Saved saved) {
  *doing = beginning;
  Trainer trainer(
      DroppedNet{}, optimizer,
      {.global_batch = 40, .micro_batch = micro_batch, .open_blocks = OpenBlocks::always, .seed = 4, .tail = Tail::carry});
  if (std::filesystem::exists(file)) trainer.load_state(file);
  const auto save = [&] {
    *doing = saving;
    trainer.save_state(file);
    saved();
    *doing = training;
  };
  FitOptions<Dataset<float, std::int32_t>> fit{.epochs = epochs - trainer.epoch(), .progress = Progress::never};
  fit.on_micro_batch = [&](std::int64_t) { save(); };
  fit.on_epoch = [&](const EpochRecord&) { save(); };
  *doing = training;
  trainer.fit(Dataset(x, y), fit);
}

/// Returns whether two states are equal, their tensors bit for bit.
bool equal(const Checkpoint& a, const Checkpoint& b) {
  bool same = a.notes == b.notes && a.tensors.size() == b.tensors.size();
  for (const auto& [name, tensor] : a.tensors)
    same = same && b.tensors.contains(name) &&
           differing_bits(std::as_bytes(std::span(tensor.values)), std::as_bytes(std::span(b.tensor(name).values))) == 0;
  return same;
}
std::string place(const Checkpoint& state) { return state.note("epoch") + " " + state.note("epoch done"); }

TEST(KilledRuns, LeaveStatesOfTheRunThatNobodyKilled) {  // cases 36 and 37
  const std::filesystem::path here = folder();
  std::filesystem::create_directory(here);
  const std::string file = here / "run.safetensors";
  auto* const doing =
      static_cast<volatile int*>(::mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(doing, MAP_FAILED);

  std::map<std::string, Checkpoint> states;  // after every sample
  std::string end;
  run(file, 1, doing, [&] {
    Checkpoint state = load(file);
    end = place(state);
    states.insert_or_assign(end, std::move(state));
  });
  EXPECT_EQ(states.size(), static_cast<std::size_t>(epochs * (samples + 1)));
  std::filesystem::remove(file);

  int killed = 0, ended = 0, while_doing[doings]{};
  std::uint64_t draw = 0, most = 4000;  // microseconds before a kill: more if runs make no progress
  std::string before;
  const auto random = [&](std::uint64_t below) { return random_bits(11, 0, ++draw) % below; };
  while (killed < kills || ended == 0) {
    const auto micro_batch = static_cast<std::int64_t>(1 + random(20));
    const auto patience = static_cast<useconds_t>(random(most));
    *doing = beginning;
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      run(file, micro_batch, doing, [] {});
      ::_exit(0);
    }
    ::usleep(patience);
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    const bool done = WIFEXITED(status);
    if (!done) ++killed, ++while_doing[*doing];
    ASSERT_TRUE(!done || WEXITSTATUS(status) == 0);
    most += most / 10;
    if (!std::filesystem::exists(file)) continue;  // killed before the first save
    const Checkpoint left = load(file);
    if (place(left) != before) most = 4000;
    before = place(left);
    ASSERT_TRUE(states.contains(place(left))) << place(left);
    ASSERT_TRUE(equal(states.at(place(left)), left)) << "kill " << killed << ", at " << place(left);
    if (!done) continue;
    ASSERT_EQ(place(left), end);
    ++ended;
    std::filesystem::remove(file);
  }
  for (const int times : while_doing) EXPECT_GT(times, 0);
  RecordProperty("runs that ended", ended);
  std::printf("%d kills: %d while a run began, %d in steps, %d in saves; %d runs came to their end\n", killed,
              while_doing[beginning], while_doing[training], while_doing[saving], ended);
  std::filesystem::remove_all(here);
}

}  // namespace killed_runs_test
