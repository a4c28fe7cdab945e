// The whole state of a trainer in a file: a process that is killed after any step and resumes from its file ends in the bits
// of one that is not killed. Case 37 of the hard cases.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "../error_of.hpp"
#include "../resume.hpp"

namespace trainer_resume_test {

using namespace resume;

using Classifiers = Trainer<ClassifierNet, Accumulate<Adam>>;

struct TrainerResume : Resume {
  const std::vector<float> x = numbers(150 * 9);
  const std::vector<std::int32_t> y = labels(150, 5);
  using Data = Dataset<float, std::int32_t>;
  const Data data{x, y}, seen = data.subset(0, 100), unseen = data.subset(100, 50);
  const TrainerOptions options{.global_batch = 32, .micro_batch = 16, .seed = 4};  // four steps an epoch, the last of 4
  static constexpr int epochs = 4;

  FitOptions<Data> fit(int from) const { return {.epochs = epochs - from, .validate = unseen, .patience = 2}; }
  Checkpoint state_of(Classifiers& trainer) const {
    trainer.save_state(file);
    return load(file);
  }
};

TEST_F(TrainerResume, AProcessKilledAfterEveryStepGoesOnToTheSameBits) {  // case 37
  Classifiers whole(ClassifierNet{}, optimizer, options);
  const History history = whole.fit(seen, fit(0));
  const Checkpoint end = state_of(whole);
  const std::int64_t steps = whole.session().step_count();
  EXPECT_EQ(steps, static_cast<std::int64_t>(history.size()) * 4);
  for (std::int64_t killed = 1; killed <= steps; ++killed) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Classifiers trainer(ClassifierNet{}, optimizer, options);
      auto dying = fit(0);
      dying.on_step = [&](std::int64_t step, const Averages&) {
        trainer.save_state(file);
        if (step == killed) ::raise(SIGKILL);
      };
      trainer.fit(seen, dying);
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    Classifiers trainer(ClassifierNet{}, optimizer, {.global_batch = 32, .micro_batch = 32});
    trainer.load_state(file);
    EXPECT_EQ(trainer.epoch(), (killed - 1) / 4);
    const History rest = trainer.fit(seen, fit(trainer.epoch()));
    EXPECT_TRUE(equal(end, state_of(trainer))) << "killed after step " << killed;
    ASSERT_FALSE(rest.empty());
    EXPECT_EQ(rest.front().training.loss(), history[static_cast<std::size_t>((killed - 1) / 4)].training.loss());
  }
}

TEST_F(TrainerResume, EpochsAndTheBestParametersAreKept) {
  std::vector<Checkpoint> after;
  Classifiers whole(ClassifierNet{}, Accumulate{Adam{.learning_rate = 0.3f}}, options);  // gets worse soon and stops early
  auto noting = fit(0);
  noting.epochs = 30;
  noting.on_epoch = [&](const EpochRecord&) { after.push_back(state_of(whole)); };
  const History history = whole.fit(seen, noting);
  ASSERT_LT(history.size(), 30u);
  const Checkpoint end = state_of(whole);
  for (std::size_t i = 0; i < after.size(); ++i) {
    save(file, after[i]);
    Classifiers trainer(ClassifierNet{}, Accumulate{Adam{.learning_rate = 0.3f}}, options);
    trainer.load_state(file);
    EXPECT_EQ(trainer.epoch(), static_cast<int>(i) + 1);
    auto rest = fit(0);
    rest.epochs = 30 - trainer.epoch();
    EXPECT_EQ(trainer.fit(seen, rest).size(), history.size() - i - 1);
    EXPECT_TRUE(equal(end, state_of(trainer))) << i;
  }
}

TEST_F(TrainerResume, AnEpochGoesOnWithTheDataItBeganWith) {
  Classifiers trainer(ClassifierNet{}, optimizer, options);
  struct Stop {};
  auto stopping = fit(0);
  stopping.on_step = [](std::int64_t step, const Averages&) { step == 2 ? throw Stop{} : void(); };
  EXPECT_THROW(trainer.fit(seen, stopping), Stop);
  EXPECT_EQ(error_of<DataError>([&] { trainer.fit(unseen, fit(0)); }),
            "fit: epoch 1 has begun on 100 samples, but now there are 50: discard_epoch() skips the rest of it");
  trainer.fit(seen, fit(0));
  Classifiers whole(ClassifierNet{}, optimizer, options);
  whole.fit(seen, fit(0));
  EXPECT_TRUE(equal(state_of(whole), state_of(trainer)));
}

TEST_F(TrainerResume, ATruncatedFileIsRefusedAtEveryLength) {
  Classifiers trainer(ClassifierNet{}, optimizer, options),
      other(ClassifierNet{}, optimizer, {.global_batch = 32, .micro_batch = 16, .seed = 9});
  trainer.fit(seen, fit(2));
  trainer.session().accumulate(std::span(x).first(16 * 9), std::span(y).first(16));
  trainer.save_state(file);
  const Checkpoint before = other.session().state();
  std::ifstream in(file, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  const std::string part = file + ".part";
  for (std::size_t length = 0; length < whole.size(); ++length) {
    std::ofstream(part, std::ios::binary).write(whole.data(), static_cast<std::streamsize>(length));
    EXPECT_THROW(other.load_state(part), FileError) << length;
  }
  std::filesystem::remove(part);
  EXPECT_TRUE(equal(before, other.session().state()));
  EXPECT_EQ(other.epoch(), 0);
  other.load_state(file);
  EXPECT_EQ(other.session().position(), 16);
  EXPECT_EQ(other.epoch(), 2);
}

TEST_F(TrainerResume, AStateOfASessionAloneIsRefused) {
  Classifiers trainer(ClassifierNet{}, optimizer, options);
  Session(ClassifierNet{}, optimizer, {.global_batch = 32}).save_state(file);
  EXPECT_EQ(error_of<FileError>([&] { trainer.load_state(file); }),
            file + ": the file is a session's state, which trainer.session().load_state reads, not a trainer's");
  trainer.save(file);
  const std::string text = error_of<FileError>([&] { trainer.load_state(file); });
  EXPECT_EQ(text, file + ": the file is not a state, as save_state writes it; load_parameters reads files of parameters; "
                         "it holds 'hidden/bias', 'hidden/weight', 'output/bias', 'output/weight'");
}

TEST_F(TrainerResume, AProgressThatCannotBeIsRefused) {
  Classifiers trainer(ClassifierNet{}, optimizer, options);
  Checkpoint whole;
  auto noting = fit(3);
  noting.on_epoch = [&](const EpochRecord&) { whole = state_of(trainer); };
  trainer.fit(seen, noting);
  const Checkpoint before = state_of(trainer);
  const auto refused = [&](auto change) {
    Checkpoint state = whole;
    change(state);
    save(file, state);
    return error_of<FileError>([&] { trainer.load_state(file); });
  };
  for (const char* const note : {"epoch", "epoch done", "epoch samples", "without progress"})
    EXPECT_EQ(refused([&](Checkpoint& state) { state.notes.at(note) = "-1"; }),
              file + ": the file's note '" + note + "' cannot be '-1'");
  EXPECT_EQ(refused([](Checkpoint& state) { state.notes.at("epoch done") = "101"; }),
            file + ": the file's note 'epoch samples' cannot be '100'");
  EXPECT_EQ(refused([](Checkpoint& state) { state.notes.at("epoch sums") = "1 2 3"; }),
            file + ": the file's note 'epoch sums' does not hold a loss and 1 metrics: '1 2 3'");
  const auto cut_short = [](Checkpoint& state) {
    StoredTensor& best = state.tensors.at("fit/best");
    best.values.pop_back(), --best.shape[0];
  };
  EXPECT_EQ(refused(cut_short),
            file + ": tensor 'fit/best' has " + std::to_string(ClassifierNet::parameter_elements - 1) + " values instead of " +
                std::to_string(ClassifierNet::parameter_elements));
  EXPECT_TRUE(equal(state_of(trainer), before));
}

TEST_F(TrainerResume, NotesOfOnesOwnAreInItsFile) {
  Classifiers trainer(ClassifierNet{}, optimizer, options), other(ClassifierNet{}, optimizer, options);
  trainer.fit(seen, fit(3));
  const Checkpoint alone = state_of(trainer);
  Checkpoint own;
  own.notes["rate"] = "0.05";
  own.add("input/mean", StoredTensor::of({1}, std::span<const float>(x).first(1)));
  trainer.save_state(file, own);
  EXPECT_EQ(load(file).note("rate"), "0.05");
  EXPECT_EQ(load(file).tensor("input/mean").values, std::vector<float>{x[0]});
  other.load_state(file);
  EXPECT_TRUE(equal(state_of(other), alone));
  own.notes["epoch"] = "7";
  EXPECT_EQ(error_of<FileError>([&] { trainer.save_state(file, own); }), "the file already has a note 'epoch'");
  own.add("hidden/bias", StoredTensor::of({1}, std::span<const float>(x).first(1)));
  EXPECT_EQ(error_of<FileError>([&] { trainer.save_state(file, own); }), "the file already has a tensor 'hidden/bias'");
}

TEST_F(TrainerResume, AFitWithoutPatienceKeepsWhatItLearns) {
  Trainer trainer(ClassifierNet{}, Accumulate{Sgd{.learning_rate = 0.1f}}, {.global_batch = 20});
  struct Interrupt {};
  FitOptions<Data> patient{.epochs = 9, .validate = data, .patience = 3, .progress = Progress::never};
  patient.on_epoch = [](const EpochRecord& record) {
    if (record.epoch == 1) throw Interrupt();
  };
  EXPECT_THROW(trainer.fit(data, patient), Interrupt);
  std::vector<float> last;
  trainer.fit(data, {.epochs = 5, .progress = Progress::never, .on_epoch = [&](const EpochRecord&) {
                       const auto values = trainer.parameters().values();
                       last.assign(values.begin(), values.end());
                     }});
  const auto values = trainer.parameters().values();
  EXPECT_EQ(std::vector<float>(values.begin(), values.end()), last);
}

}  // namespace trainer_resume_test
