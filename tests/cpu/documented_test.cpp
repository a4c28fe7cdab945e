// The code of the README and of the guides that no other test or example holds, with which
// `Documents.HaveOnlyCodeThatIsCompiled` compares them, and the bytes that the README quotes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <mutex>
#include <numeric>
#include <random>
#include <sstream>
#include <thread>
#include <utility>

#include <gradual/check/test_model.hpp>
#include <gradual/check/test_splits.hpp>

#include "../../examples/01-digits/model.hpp"
#include "../error_of.hpp"
#include "../models.hpp"

namespace documented_test {

using namespace gradual;

const std::filesystem::path root = std::filesystem::absolute(__FILE__).parent_path() / "../..";  // before tests change folders

struct Mlp {
  nn::Linear hidden, output;
  constexpr explicit Mlp(Scope s)
      : hidden(s / "hidden", 64, 128, init::kaiming_uniform(64)), output(s / "output", 128, 10) {}

  constexpr Var predict(Var x) const { return output(relu(hidden(x))); }
  constexpr Loss loss(Var x, Var label) const {
    Var scores = predict(x);
    return {cross_entropy(scores, label), metric("accuracy", argmax(scores) == label)};
  }
};
using Net = Compiled<Mlp, Inputs<f32[64], i32>>;
constexpr auto optimizer = Accumulate{Adam{.learning_rate = 5e-3f}};

/// Tiles of wider vectors pack more. The documents quote the plans of AVX-512.
constexpr std::int64_t planned([[maybe_unused]] std::int64_t avx512, [[maybe_unused]] std::int64_t avx2,
                               [[maybe_unused]] std::int64_t neon) {
#if defined(__AVX512F__)
  return avx512;
#elif defined(__AVX2__)
  return avx2;
#else
  return neon;
#endif
}

struct Positions {
  Parameter table;
  constexpr explicit Positions(Scope s) : table(s.parameter("table", Shape{16, 32}, init::normal(0.1))) {}
  constexpr Var operator()(Var x) const { return x + table.on(x); }
};

struct Stack {
  nn::Sequential<nn::Linear, nn::Relu, nn::Linear> layers;
  constexpr explicit Stack(Scope s) : layers{nn::Linear(s / "a", 4, 8), nn::Relu(), nn::Linear(s / "b", 8, 2)} {}
  constexpr Var predict(Var x) const { return layers(x); }
};

struct ActorCritic {
  nn::Linear hidden, policy, value;
  Parameter bonus;
  constexpr explicit ActorCritic(Scope s)
      : hidden(s / "hidden", 4, 32), policy(s / "policy", 32, 2), value(s / "value", 32, 1),
        bonus(s.parameter("bonus", Shape{}, init::constant(0.01))) {}
  constexpr Var predict(Var state) const {
    const Var h = tanh(hidden(state));
    return concat({policy(h), value(h)}, 1);
  }
  constexpr Loss loss(Var state, Var action, Var old, Var advantage, Var wanted) const {
    const Var both = predict(state), logits = slice(both, 1, 0, 2);
    const Var ratio = exp(-cross_entropy(logits, action) - old), entropy = -sum(softmax(logits) * log_softmax(logits), {1});
    const Var gain = minimum(ratio * advantage, clamp(ratio, 0.8, 1.2) * advantage);
    return {0.5 * square(select(both, 1, 2) - wanted) - gain - bonus.on(state) * entropy, metric("entropy", entropy)};
  }
};
using AcNet = Compiled<ActorCritic, Inputs<f32[4], i32, f32, f32, f32>>;

struct Masked {
  nn::Linear policy;
  constexpr explicit Masked(Scope s) : policy(s / "policy", 4, 3) {}
  constexpr Var scores(Var state, Var allowed) const { return where(allowed > 0.5, policy(state), -HUGE_VAL); }
  constexpr Loss loss(Var state, Var allowed, Var action, Var advantage) const {
    const Var z = scores(state, allowed), p = softmax(z), entropy = -sum(xlogy(p, p), {1});
    return {cross_entropy(z, action) * advantage - 0.01 * entropy};
  }
};
struct MaskedTooLate : Masked {
  using Masked::Masked;
  constexpr Loss loss(Var state, Var allowed, Var, Var) const {
    const Var z = scores(state, allowed);
    return {sum(where(allowed > 0.5, softmax(z) * log_softmax(z), 0.0), {1})};
  }
};
template <class Policy>
using MaskedNet = Compiled<Policy, Inputs<f32[4], f32[3], i32, f32>>;

struct ActionValues {
  nn::Linear hidden, output;
  constexpr explicit ActionValues(Scope s) : hidden(s / "hidden", 4, 32), output(s / "output", 32, 2) {}
  constexpr Var predict(Var state) const { return output(tanh(hidden(state))); }
  constexpr Loss loss(Var state, Var action, Var wanted) const {
    return {square(pick(predict(state), action) - wanted)};
  }
};
using ValueNet = Compiled<ActionValues, Inputs<f32[4], i32, f32>>;

/// Samples of a game of one move, which is worth 1 where it tells the sign of the state's first number, else 0.
struct Rollout {
  std::vector<float> state, log_probability, advantage, wanted;
  std::vector<std::int32_t> action;
  double mean() const { return std::reduce(wanted.begin(), wanted.end()) / static_cast<double>(wanted.size()); }
};

/// The tensors of these names, by others: matrices with rows as columns.
Checkpoint turned(const Checkpoint& file, const std::map<std::string, std::string>& names) {
  Checkpoint result;
  for (const auto& [from, to] : names) {
    StoredTensor tensor = file.tensor(from);
    if (tensor.shape.size() == 2) {
      const auto rows = static_cast<std::size_t>(tensor.shape[0]), columns = static_cast<std::size_t>(tensor.shape[1]);
      const std::vector<float> read = tensor.values;
      for (std::size_t i = 0; i < read.size(); ++i) tensor.values[i % columns * rows + i / columns] = read[i];
      std::swap(tensor.shape[0], tensor.shape[1]);
    }
    result.add(to, tensor);
  }
  return result;
}

/// Data of the digits' sizes, in a folder of its own.
struct Documented : testing::Test {
  const std::filesystem::path before = std::filesystem::current_path(),
                              folder = before / ("gradual_documented_" + std::to_string(::getpid()));
  Documented() {
    std::filesystem::create_directory(folder);
    std::filesystem::current_path(folder);
  }
  ~Documented() override {
    std::filesystem::current_path(before);
    std::filesystem::remove_all(folder);
  }
  std::vector<float> images = models::numbers(640 * 64);
  std::vector<std::int32_t> labels = models::labels(640, 10);
};

TEST_F(Documented, Data) {
  std::ofstream("flowers.csv") << "length,width,other length,other width,species\n5.1,3.5,1.4,0.2,setosa\n"
                                  "7.0,3.2,4.7,1.4,versicolor\n6.3,3.3,6.0,2.5,virginica\n4.9,3.0,1.4,0.2,setosa\n"
                                  "6.4,3.2,4.5,1.5,versicolor\n";
  Table table = read_csv("flowers.csv", {.header = true, .text = {{"species", {}}}});
  table.shuffle(0);
  const auto [learned, tested] = table.split(0.8);
  std::vector<float> x = learned.take(0, 4), tested_x = tested.take(0, 4);
  const std::vector<std::int32_t> y = learned.labels("species"), tested_y = tested.labels("species");
  const Normalizer normalizer = Normalizer::fit(x, 4);
  normalizer.apply(x);
  normalizer.apply(tested_x);
  const Dataset train(x, y), test(tested_x, tested_y);
  EXPECT_EQ(train.size(), 4);
  EXPECT_EQ(test.size(), 1);
}

TEST_F(Documented, RowsToPredict) {
  const Table table = parse_csv("kind,length,species\ntree,12,oak\nshrub,2,box\n",
                                {.header = true, .text = {{"kind", Categories({"other", "shrub", "tree"})}, {"species", {}}}});
  const Table row = parse_csv("tree,5.1", {.names = {"kind", "length"}, .text = table.text, .unknown = {{"kind", 0}}});
  EXPECT_EQ(row.values, (std::vector<float>{2, 5.1f}));
  EXPECT_EQ(table.take_rows(std::vector{1}).labels("species"), std::vector<std::int32_t>{0});
}

TEST_F(Documented, CrossValidation) {
  std::vector<double> losses;
  constexpr int folds = 5, features = 64, fold = 128;
  for (int f = 0; f < folds; ++f) {
    const Dataset all(images, labels);
    const auto held_back = all.subset(0, fold), learned = all.subset(fold, all.size() - fold);
    Trainer trainer(Net{}, optimizer, {.global_batch = 512});
    trainer.fit(learned, {.epochs = 20});
    losses.push_back(trainer.evaluate(held_back).loss());
    std::ranges::rotate(images, images.begin() + fold * features);
    std::ranges::rotate(labels, labels.begin() + fold);
  }
  EXPECT_EQ(labels, models::labels(640, 10)) << "each fold was held back once";
  EXPECT_EQ(losses.size(), 5u);
}

TEST_F(Documented, ATrainer) {
  const auto [train, test] = Dataset(images, labels).split(0.8);
  Trainer trainer(Net{}, optimizer, {.global_batch = 512, .memory_budget = 256_KiB});
  EXPECT_EQ(trainer.session().options().micro_batch, planned(39, 46, 49));
  trainer.fit(train, {.epochs = 100, .validate = test});
  const History history = trainer.fit(train, {.epochs = 100, .validate = test, .patience = 5});
  const Averages seen = trainer.evaluate(test);
  const double accuracy = seen.metric(Net::metric("accuracy"));
  EXPECT_LT(history.size(), 100u) << "labels without a meaning: the validation loss gets worse";
  const ConfusionMatrix guesses(trainer.predict(std::span(images).last(128 * 64)), std::span(labels).last(128));
  EXPECT_EQ(accuracy, guesses.accuracy());
  EXPECT_LE(seen.loss(), history.back().validation.loss());

  trainer.fit(train, {.epochs = 100,
                      .validate = test,
                      .patience = 5,
                      .monitor = [](const EpochRecord& epoch) { return -epoch.validation.metric(Net::metric("accuracy")); },
                      .on_step = [&](std::int64_t step, const Averages& window) {
                        if (window.loss() < 0.01 || step == 10'000) trainer.stop();
                      }});

  trainer.save("digits.safetensors");
  Inference<Net> classify(load("digits.safetensors"), 64);
  std::vector<float> scores(64 * Inference<Net>::output_width());
  classify(std::span(images).first(64 * 64), scores);
  EXPECT_NE(scores[0], scores[1]);
  EXPECT_EQ(trainer.predict(std::span(images).first(64 * 64)), scores);
}

/// Calls f with the rule of a name.
auto with_rule(std::string_view name, auto f) {
  if (name == "sgd") return f(Sgd{.learning_rate = 0.1, .momentum = 0.9});
  if (name == "adam") return f(Adam{.learning_rate = 5e-3});
  throw std::invalid_argument("no such rule: " + std::string(name));
}

TEST_F(Documented, ARuleChosenAtRunTime) {
  const auto [train, test] = Dataset(images, labels).split(0.8);
  const auto loss_of = [&](std::string_view name) {
    const double loss = with_rule(name, [&](auto rule) {
      Trainer trainer(Net{}, Accumulate{rule}, {.global_batch = 512});
      trainer.fit(train, {.epochs = 20});
      return trainer.evaluate(test).loss();
    });
    return loss;
  };
  EXPECT_NE(loss_of("sgd"), loss_of("adam"));
  EXPECT_THROW(loss_of("rprop"), std::invalid_argument);
}

TEST_F(Documented, RareClasses) {
  const Dataset train(images, labels);
  Trainer trainer(Net{}, optimizer, {.global_batch = 512});
  std::array<double, 10> count{};
  for (const std::int32_t label : labels) ++count[label];
  std::vector<double> weights;
  for (const std::int32_t label : labels) weights.push_back(1 / count[label]);
  trainer.fit(train, {.epochs = 20, .draw = weights});
  std::vector<std::int32_t> order(100'000);
  const WeightedDraw draw(weights);
  draw(order, 1, 0);
  std::array<int, 10> drawn{};
  for (const std::int32_t i : order) ++drawn[labels[i]];
  for (const int times : drawn) EXPECT_NEAR(times, 10'000, 400);  // four deviations
}

TEST_F(Documented, PredictingWhileANetLearns) {
  const Dataset train(images, labels);
  const auto digit = std::span(images).first(64);
  std::vector<float> scores(10);
  Trainer trainer(Net{}, optimizer, {.global_batch = 512});
  Inference<Net> newest(trainer.parameters(), 64);
  std::mutex of_newest;
  std::jthread reader([&](std::stop_token ended) {
    std::unique_lock lock(of_newest);
    for (Inference<Net> mine = newest; !ended.stop_requested(); lock.lock()) {
      mine.set_parameters(newest);
      lock.unlock();
      mine(digit, scores);
    }
  });
  trainer.fit(train, {.epochs = 20, .on_step = [&](std::int64_t, const Averages&) {
                        const std::lock_guard lock(of_newest);
                        newest.set_parameters(trainer.parameters());
                      }});
  reader.request_stop();
  reader.join();
  newest(digit, scores);
  EXPECT_EQ(scores, trainer.predict(digit));
}

TEST_F(Documented, ALoopInRealTimeBesideAFit) {
  const Dataset train(images, labels);
  const auto digit = std::span(images).first(64);
  std::vector<float> scores(10);
  Trainer trainer(Net{}, optimizer, {.global_batch = 512});
  const auto learned = trainer.parameters().values();
  std::vector<float> latest(learned.begin(), learned.end());
  std::mutex of_latest;
  bool fresh = false;
  std::jthread control([&, mine = Inference<Net>(latest)](std::stop_token ended) mutable {
    while (!ended.stop_requested()) {
      if (const std::unique_lock lock(of_latest, std::try_to_lock); lock && std::exchange(fresh, false))
        mine.set_parameters(latest);
      mine(digit, scores);
    }
  });
  trainer.fit(train, {.epochs = 20, .on_step = [&](std::int64_t, const Averages&) {
                        const std::lock_guard lock(of_latest);
                        std::ranges::copy(trainer.parameters().values(), latest.begin());
                        fresh = true;
                      }});
  for (bool taken = false; !taken; std::this_thread::yield()) {
    const std::lock_guard lock(of_latest);
    taken = !fresh;
  }
  control.request_stop();
  control.join();
  EXPECT_EQ(scores, trainer.predict(digit));
}

TEST_F(Documented, Resuming) {
  const Dataset train(images, labels);
  Trainer trainer(Net{}, optimizer, {.global_batch = 512, .memory_budget = 256_KiB});
  if (std::filesystem::exists("run.safetensors")) trainer.load_state("run.safetensors");
  trainer.fit(train, {.epochs = 100 - trainer.epoch(),
                      .on_epoch = [&](const EpochRecord&) { trainer.save_state("run.safetensors"); }});
  EXPECT_EQ(trainer.epoch(), 100);
  EXPECT_TRUE(std::filesystem::exists("run.safetensors"));
}

TEST_F(Documented, TensorsOfPyTorchsNames) {
  const Session trained(Net{}, optimizer, {.global_batch = 512, .micro_batch = 64, .seed = 1});
  Session session(Net{}, optimizer, {.global_batch = 512, .micro_batch = 64});
  save_parameters("digits.safetensors", trained.parameters());
  const std::map<std::string, std::string> ours{{"hidden/weight", "0.weight"}, {"hidden/bias", "0.bias"},
                                                {"output/weight", "2.weight"}, {"output/bias", "2.bias"}};
  save("torch.safetensors", turned(load("digits.safetensors"), ours));
  std::map<std::string, std::string> theirs;
  for (const auto& [name, other] : ours) theirs[other] = name;
  load_parameters(turned(load("torch.safetensors"), theirs), session.parameters());

  const Checkpoint torch = load("torch.safetensors");
  EXPECT_EQ(torch.tensor("0.weight").shape, (std::vector<std::int64_t>{128, 64}));
  EXPECT_EQ(torch.tensor("0.weight").values[3 * 64 + 5], trained.parameters()["hidden/weight"].values[5 * 128 + 3]);
  EXPECT_TRUE(std::ranges::equal(session.parameters().values(), trained.parameters().values()));
}

TEST_F(Documented, ALoopThatGivesEachWindowTwice) {
  const Dataset train = Dataset(images, labels).subset(0, 600);
  Session session(Net{}, Accumulate{Sam{Adam{}}}, {.global_batch = 64});
  for (auto [x, y] : train.batches(64)) do {
      session.accumulate(x, y);
      if (session.position() > 0) session.flush();  // the last, which has fewer samples
    } while (session.again());
  save_parameters("digits.safetensors", session.parameters());
  EXPECT_EQ(session.step_count(), 10);
  EXPECT_EQ(session.last_window().count(), 24);
}

TEST_F(Documented, ALoopThatIsResumed) {
  const Dataset train = Dataset(images, labels).subset(0, 632);
  for (int run = 0; run < 2; ++run) {  // the second has nothing left to do
    Session session(Net{}, optimizer, {.global_batch = 512, .micro_batch = 64});
    std::int64_t done = 0;
    if (std::filesystem::exists("loop.safetensors")) {
      const Checkpoint file = load("loop.safetensors");
      session.restore(file);
      done = std::stoll(file.note("done"));
    }
    while (done < train.size()) {
      const std::int64_t count = std::min<std::int64_t>(64, train.size() - done);
      train.subset(done, count).apply([&](auto... data) { session.accumulate(data...); });
      Checkpoint file = session.state();
      file.notes["done"] = std::to_string(done += count);
      save("loop.safetensors", file);
    }
    EXPECT_EQ(session.step_count(), 1);
    EXPECT_EQ(session.position(), 120);
  }
}

TEST_F(Documented, ALoopOfOnesOwn) {
  const Dataset train(images, labels);
  {
    Session session(Net{}, optimizer, {.global_batch = 512, .micro_batch = 64});
    for (auto [x, y] : train.batches(64)) session.accumulate(x, y);
    session.flush();
    session.parameters()["hidden/weight"].values;
    save_parameters("digits.safetensors", session.parameters());
    EXPECT_EQ(session.step_count(), 2);
    EXPECT_TRUE(std::filesystem::exists("digits.safetensors"));
  }
  Session session(Net{}, optimizer, {.global_batch = 512, .micro_batch = 64, .gather = true});
  std::vector<std::int32_t> order(static_cast<std::size_t>(train.size()));
  for (std::uint64_t epoch = 0; epoch < 100; ++epoch) {
    shuffle(order, 1, epoch);
    for (std::int64_t done = 0; done < train.size();) {
      const auto rows = std::span(order).subspan(static_cast<std::size_t>(done));
      train.apply([&](auto... data) { session.accumulate_rows(rows, epoch, true, done, data...); });
    }
  }
  EXPECT_EQ(session.step_count(), 200);
}

struct Learner {
  Session<Net, Accumulate<Adam>> session{Net{}, optimizer, {.global_batch = 512, .micro_batch = 64}};
  Trainer<Net, Accumulate<Adam>> trainer{Net{}, optimizer, {.global_batch = 512}};
  Inference<Net> newest{session.parameters()};
};
TEST_F(Documented, MembersOfAClass) {
  Learner learner;
  const auto seen = [&](auto& of) { return of.predict(std::span(images).first(64)); };
  std::vector<float> scores(10);
  learner.newest(std::span(images).first(64), scores);
  EXPECT_EQ(seen(learner.session), scores);
  EXPECT_EQ(seen(learner.trainer), scores);
}

TEST_F(Documented, GradientNoise) {
  const Dataset train(images, labels);
  Trainer trainer(Net{}, optimizer, {.global_batch = 512, .noise_batch = 64});
  gradual::GradientNoise sum;
  trainer.fit(train, {.epochs = 10, .on_step = [&](auto, auto&) { sum += trainer.session().gradient_noise(); }});
  testing::internal::CaptureStdout();
  std::cout << sum.scale();
  EXPECT_NE(std::stod(testing::internal::GetCapturedStdout()), 0);
}

TEST_F(Documented, Checks) {
  Session session(Net{}, optimizer, {.global_batch = 512, .micro_batch = 64});
  testing::internal::CaptureStdout();
  const auto x = std::span(images).first(128 * 64);
  const auto y = std::span(labels).first(128);
  std::cout << test_model(Net{}, session.parameters().values(), x.first(8 * 64), y.first(8));
  std::cout << test_splits(Net{}, optimizer, {{64, 64}, {7, 100, 21}}, x, y);
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_NE(text.find("output/weight"), std::string::npos);
  const std::string bytes = std::to_string(planned(316160, 307968, 303872));
  EXPECT_NE(text.find("{7,100,21}                           " + bytes + "                0\n"), std::string::npos) << text;
}

TEST_F(Documented, TheFirstKernels) {
  const std::string guide = read_file((root / "docs/guides/look-inside.md").string()), table = explain<Net>();
  EXPECT_NE(guide.find(table.substr(0, table.find("     5  "))), std::string::npos) << table;
}

TEST_F(Documented, ATrace) {
  const Dataset data(images, labels);
  Trainer trainer(Net{}, optimizer, {.global_batch = 512, .memory_budget = 256_KiB});
  TraceFile trace;
  trainer.fit(data, trace.following(trainer, {.epochs = 3}));
  trace.save("run.json");
  EXPECT_EQ(trainer.epoch(), 3);
  EXPECT_TRUE(std::filesystem::exists("run.json"));
}

TEST_F(Documented, LayersOneAfterAnother) {
  using Layers = Compiled<Stack, Inputs<f32[4]>>;
  EXPECT_EQ(Layers::parameter(0).name.view(), "a/weight");
  EXPECT_EQ(Layers::parameter(3).name.view(), "b/bias");
}

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

TEST_F(Documented, APolicyAndItsValue) {
  std::mt19937 random(1);
  std::vector<double> worth;
  const auto play = [&](Inference<AcNet>& act) {
    Rollout r;
    std::vector<float> out(3);
    for (int i = 0; i < 150; ++i) {
      const std::vector<float> state = models::numbers(4, static_cast<unsigned>(random()));
      act(state, out);
      const double second = 1 / (1 + std::exp(double{out[0]} - double{out[1]}));
      const int action = std::uniform_real_distribution<>()(random) < second;
      r.state.insert(r.state.end(), state.begin(), state.end());
      r.action.push_back(action);
      r.wanted.push_back(static_cast<float>((state[0] > 0) == (action == 1)));
      r.advantage.push_back(r.wanted.back() - out[2]);
      r.log_probability.push_back(static_cast<float>(std::log(action == 1 ? second : 1 - second)));
    }
    worth.push_back(r.mean());
    return r;
  };
  Session session(AcNet{}, Accumulate{Adam{.learning_rate = 5e-3}}, {.global_batch = 64, .gather = true, .freeze = {"bonus"}});
  Inference<AcNet> act(session.parameters());
  for (std::uint64_t epoch = 0; epoch < 80;) {
    const Rollout r = play(act);
    std::vector<std::int32_t> order(r.action.size());
    for (const std::uint64_t end = epoch + 4; epoch < end; ++epoch) {
      shuffle(order, 1, epoch);
      for (std::int64_t done = 0; done < std::ssize(order);) {
        const auto rows = std::span(order).subspan(static_cast<std::size_t>(done));
        session.accumulate_rows(rows, epoch, true, done, r.state, r.action, r.log_probability, r.advantage, r.wanted);
      }
    }
    act.set_parameters(session.parameters());
    session.parameters()["bonus"].values[0] *= 0.9f;
  }
  EXPECT_EQ(session.step_count(), 80 * 3) << "64, 64 and 22 samples";
  EXPECT_LT(worth.front(), 0.7);
  EXPECT_GT(worth.back(), 0.9);
}

TEST_F(Documented, ActionsThatAreNotAlwaysAllowed) {
  const std::vector<float> state = models::numbers(64 * 4), advantage(64, 1);
  std::vector<float> allowed(64 * 3, 1);
  std::vector<std::int32_t> action(64);
  for (std::size_t i = 0; i < 64; ++i) {
    action[i] = static_cast<std::int32_t>(i % 3);
    allowed[3 * i + (i + 1) % 3] = 0;
  }
  Session session(MaskedNet<Masked>{}, optimizer, {.global_batch = 64});
  EXPECT_EQ(session.accumulate(state, allowed, action, advantage), 1);
  EXPECT_TRUE(test_model(MaskedNet<Masked>{}, session.parameters().values(), state, allowed, action, advantage).mistakes.empty());
  action[0] = 1;
  EXPECT_EQ(session.accumulate(state, allowed, action, advantage), 0);

  Session too_late(MaskedNet<MaskedTooLate>{}, optimizer, {.global_batch = 64});
  EXPECT_EQ(too_late.accumulate(state, allowed, action, advantage), 0);
  EXPECT_EQ(too_late.dropped_windows(), 1);
  EXPECT_TRUE(std::isfinite(too_late.evaluate(state, allowed, action, advantage).loss())) << "its gradient is not";
}

TEST_F(Documented, ATargetNetwork) {
  constexpr auto copied = Accumulate{Ema{Adam{.learning_rate = 1e-2}, schedule::every(100, 0.0, 1.0)}};
  Session session(ValueNet{}, copied, {.global_batch = 64});
  Inference<ValueNet> act(session.parameters()), target(session.parameters(), 64);
  const std::vector<float> state = models::numbers(64 * 4);
  const std::vector<std::int32_t> action = models::labels(64, 2);
  std::vector<float> wanted(64), next(64 * 2), now(64 * 2);
  for (int step = 0; step < 250; ++step) {
    target(state, next);
    for (std::size_t i = 0; i < 64; ++i) wanted[i] = 1 + 0.5f * std::max(next[2 * i], next[2 * i + 1]);
    session.accumulate(state, action, wanted);
    act.set_parameters(session.parameters());
    if (session.step_count() % 100 == 0) target.set_parameters(session.parameters());
  }
  target(state, next);
  act(state, now);
  EXPECT_NE(now, next);
  act.set_parameters(session.averaged_parameters());
  act(state, now);
  EXPECT_EQ(now, next) << "of step 200";
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

TEST_F(Documented, AnEagerModel) {
  using digits::Mlp;
  const std::int64_t columns = 64, width = 20;
  const auto x = std::span(images).first(100 * 64);
  const auto y = std::span(labels).first(100);
  Parameters parameters(Device::cpu());
  Mlp net(parameters.root(), {.in = columns, .hidden = width});
  Session session(parameters, optimizer, {.global_batch = 512});
  session.accumulate(100, [&](EagerTape& tape) {
    const Var in = tape.input(x, {columns}), label = tape.input(y);
    return net.loss(in, label);
  });
  EXPECT_EQ(session.position(), 100);
}

TEST_F(Documented, AnEagerTrainer) {
  using digits::Mlp;
  const std::int64_t columns = 64, width = 20;
  const auto [train, test] = Dataset(images, labels).split(0.8);
  Parameters parameters(Device::cpu());
  Mlp net(parameters.root(), {.in = columns, .hidden = width});
  EagerNet eager(parameters, [&](EagerTape& tape, std::span<const float> x, std::span<const std::int32_t> y) {
    const Var in = tape.input(x, {columns}), label = tape.input(y);
    return net.loss(in, label);
  });
  Trainer trainer(eager, optimizer, {.global_batch = 512});
  trainer.fit(train, {.epochs = 20, .validate = test});
  const double accuracy = trainer.evaluate(test).metric(trainer.session().metric("accuracy"));
  EXPECT_EQ(accuracy, trainer.evaluate(test).metric(0));
  const std::vector<float> all = trainer.predict(test, [&](EagerTape& tape, std::span<const float> x, auto) {
    return net.predict(tape.input(x, {columns}));
  });
  EXPECT_EQ(std::ssize(all), test.size() * 10);
  EagerTape tape(parameters, 3);
  const Tensor scores = value(net.predict(tape.input(std::span(images).first(3 * 64), {columns})));
  const std::span<const float> numbers = scores.values<float>();
  EXPECT_EQ(numbers.size(), 30u);
}

}  // namespace documented_test
