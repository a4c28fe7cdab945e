// Nets that predict while they learn, and files of PyTorch's: the code of the guides to threads and to saving.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../documented.hpp"

namespace documented_deployment_test {

using namespace documented;

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
                        const auto numbers = trainer.parameters().values();
                        if (!std::ranges::all_of(numbers, [](float p) { return std::isfinite(p); })) return;
                        const std::lock_guard lock(of_latest);
                        std::ranges::copy(numbers, latest.begin());
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

TEST_F(Documented, ALoopThatLearns) {
  constexpr std::size_t ticks = 400;
  images[100 * 64 + 3] = std::numeric_limits<float>::infinity();
  std::vector<float> scores(10);
  const auto sensors = [&](std::size_t tick) { return std::span(std::as_const(images)).subspan(tick * 64, 64); };
  const auto one_label = [&](std::size_t tick) { return std::span(std::as_const(labels)).subspan(tick, 1); };
  Session learner(Net{}, optimizer, {.global_batch = 16, .micro_batch = 1, .freeze = {"hidden/*"}});
  Inference<Net> act(learner.parameters());
  for (std::size_t tick = 0; tick < ticks; ++tick) {
    const auto x = sensors(tick);
    if (!std::ranges::all_of(x, [](float v) { return std::isfinite(v); })) continue;
    act(x, scores);
    if (learner.accumulate(x, one_label(tick)) > 0) act.set_parameters(learner.parameters());
  }
  EXPECT_EQ(learner.step_count(), 24);  // 399 samples
  EXPECT_EQ(learner.flush(), 1);
  act.set_parameters(learner.parameters());
  act(sensors(0), scores);
  EXPECT_EQ(scores, learner.predict(sensors(0)));
}

TEST_F(Documented, AFitThatMayBeToldToEndBeforeItBegins) {
  const Dataset train(images, labels);
  Trainer trainer(Net{}, optimizer, {.global_batch = 512, .micro_batch = 128});
  std::jthread learning([&](std::stop_token ended) {
    trainer.fit(train, {.epochs = 1000, .on_micro_batch = [&](std::int64_t) { if (ended.stop_requested()) trainer.stop(); }});
  });
  learning.request_stop();
  learning.join();
  EXPECT_LT(trainer.epoch(), 1000);
}

TEST_F(Documented, ParametersOfAByte) {
  const Trainer trainer(Net{}, optimizer, {.global_batch = 512});
  std::vector<std::int8_t> bytes;
  std::vector<float> steps;
  for (auto [name, shape, values] : trainer.parameters()) {
    float largest = 0x1p-100f;
    for (const float value : values) largest = std::max(largest, std::abs(value));
    steps.push_back(largest / 127);
    for (const float value : values) bytes.push_back(static_cast<std::int8_t>(std::lround(value / steps.back())));
  }
  std::vector<float> read;
  for (std::size_t p = 0; p < steps.size(); ++p)
    for (std::int64_t i = 0; i < Net::declared()[p].shape.unit(); ++i) read.push_back(steps[p] * bytes[read.size()]);
  Inference<Net> classify(read, 64);

  ASSERT_EQ(read.size(), static_cast<std::size_t>(Net::parameter_elements));
  const auto exact = trainer.parameters().values();
  for (std::size_t i = 0; i < read.size(); ++i) EXPECT_LE(std::abs(read[i] - exact[i]), *std::ranges::max_element(steps) / 2);
  EXPECT_EQ(*std::ranges::max_element(bytes), 127);
}

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

}  // namespace documented_deployment_test
