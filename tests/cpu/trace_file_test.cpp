// A trace of training: the file's contents, and that nothing else depends on it.
#include <gtest/gtest.h>
#include <rapidjson/document.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <limits>
#include <thread>

#include "../models.hpp"

namespace trace_file_test {

using namespace models;

constexpr auto optimizer = Accumulate{Adam{.learning_rate = 0.01f}};

struct Traced : testing::Test {
  const std::vector<float> x = numbers(300 * 9);
  const std::vector<std::int32_t> y = labels(300, 5);
  const Dataset<float, std::int32_t> data{x, y};
  const TrainerOptions options{.global_batch = 128, .micro_batch = 50, .open_blocks = OpenBlocks::always, .seed = 3};
  const std::string file = testing::TempDir() + "gradual_trace_" + std::to_string(::getpid());
  ~Traced() override { std::remove(file.c_str()); }

  rapidjson::Document content() const {
    rapidjson::Document json;
    json.Parse<rapidjson::kParseFullPrecisionFlag>(read_file(file).c_str());
    EXPECT_FALSE(json.HasParseError());
    return json;
  }
};

/// Returns the events of one name.
std::vector<const rapidjson::Value*> named(const rapidjson::Document& json, const std::string& name) {
  std::vector<const rapidjson::Value*> result;
  for (const auto& event : json["traceEvents"].GetArray())
    if (event["name"].GetString() == name) result.push_back(&event);
  return result;
}
double at(const rapidjson::Value& event, const char* name) { return event["args"][name].GetDouble(); }

TEST_F(Traced, HoldsStepsBytesAndTheProcess) {
  Trainer plain(DroppedNet{}, optimizer, options);
  plain.fit(data, {.epochs = 2, .validate = data, .progress = Progress::never});

  Trainer trainer(DroppedNet{}, optimizer, options);
  TraceFile trace;
  int called[3]{};
  std::vector<double> losses;
  const std::int64_t plenty = trainer.memory().total(), less = plenty * 3 / 4;
  trainer.fit(
      data,
      trace.following(
          trainer, {.epochs = 2,
                    .validate = data,
                    .progress = Progress::never,
                    .on_epoch = [&](const EpochRecord&) { ++called[0]; },
                    .on_step = [&](std::int64_t, const Averages& seen) { ++called[1], losses.push_back(seen.loss()); },
                    .on_micro_batch =
                        [&](std::int64_t) {
                          if (++called[2] == 3) trainer.set_budget(less);
                        }}));
  EXPECT_EQ(differing_bits(plain.session().parameter_bytes(), trainer.session().parameter_bytes()), 0);
  trace.save(file);
  const rapidjson::Document json = content();
  EXPECT_EQ(json["otherData"]["events left out"].GetInt(), 0);

  double samples = 0;
  const auto parts = named(json, "micro-batch"), steps = named(json, "step"), ends = named(json, "after the epoch");
  EXPECT_EQ(called[2], static_cast<int>(parts.size()));
  EXPECT_EQ(called[1], static_cast<int>(steps.size()));
  EXPECT_EQ(called[0], static_cast<int>(ends.size()));
  ASSERT_EQ(steps.size(), 6u);
  for (const auto* part : parts) samples += at(*part, "samples");
  EXPECT_EQ(samples, 600);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(at(*steps[i], "step"), static_cast<double>(i + 1));
    EXPECT_EQ(at(*steps[i], "samples"), i % 3 == 2 ? 44 : 128);
    EXPECT_EQ(at(*steps[i], "loss"), losses.at(i));
    double inside = 0;  // of the step's own micro-batches, which fill it
    for (const auto* part : parts)
      if ((*part)["ts"].GetDouble() > (*steps[i])["ts"].GetDouble() - 1e-2 &&
          (*part)["ts"].GetDouble() < (*steps[i])["ts"].GetDouble() + (*steps[i])["dur"].GetDouble() - 1e-2)
        inside += at(*part, "samples");
    EXPECT_EQ(inside, at(*steps[i], "samples")) << i;
  }
  double end = 0;
  for (const auto& event : json["traceEvents"].GetArray()) {  // slices follow each other
    if (event["ph"].GetString() != std::string("X") || event["name"].GetString() == std::string("step")) continue;
    EXPECT_GE(event["ts"].GetDouble(), end - 1e-2);
    end = event["ts"].GetDouble() + event["dur"].GetDouble();
  }

  const auto bytes = named(json, "session bytes");
  ASSERT_EQ(bytes.size(), 2u);
  EXPECT_EQ(at(*bytes[0], "persistent") + at(*bytes[0], "transient"), static_cast<double>(plenty));
  EXPECT_EQ(at(*bytes[1], "persistent") + at(*bytes[1], "transient"), static_cast<double>(trainer.memory().total()));
  EXPECT_LE(trainer.memory().total(), less);
  for (const auto* event : named(json, "resident bytes of the process")) EXPECT_GT(at(*event, "resident"), 0);
  EXPECT_FALSE(named(json, "resident bytes of the process").empty());
  EXPECT_GT(process_usage().cpu_seconds, 0);
}

TEST_F(Traced, MeasuresBusyCoresBetweenItsSamplesOfTheProcess) {
  TraceFile trace;
  for (int i = 0; i < 3; ++i) {
    trace.micro_batch(1, {});
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // no more than one sample is taken in a millisecond
  }
  trace.save(file);
  const rapidjson::Document json = content();
  EXPECT_EQ(named(json, "resident bytes of the process").size(), 3u);
  ASSERT_EQ(named(json, "cores busy").size(), 2u);
  for (const auto* event : named(json, "cores busy")) EXPECT_GE(at(*event, "cores"), 0);
}

TEST_F(Traced, KeepsSoManyEventsAndCountsTheOthers) {
  TraceFile trace(4);
  for (int i = 0; i < 10; ++i) trace.micro_batch(1, {});
  Averages infinite(0);
  const float loss = std::numeric_limits<float>::infinity(), *const values[] = {&loss};
  infinite.add(values, nullptr, 1);
  trace.step(1, infinite);
  trace.save(file);
  const rapidjson::Document json = content();
  EXPECT_EQ(json["traceEvents"].Size(), 4u);
  EXPECT_GE(json["otherData"]["events left out"].GetInt(), 7);

  TraceFile other;
  other.step(1, infinite);
  other.save(file);
  EXPECT_TRUE((*named(content(), "step").at(0))["args"]["loss"].IsNull());
  EXPECT_THROW(other.save(file + "/nowhere"), FileError);
}

TEST_F(Traced, FollowsATrainerOfAnEagerNet) {
  Parameters parameters(Device::cpu());
  const nn::Linear layer(parameters.root(), 9, 5);
  const EagerNet net(parameters, [&](EagerTape& tape, std::span<const float> in, std::span<const std::int32_t> label) {
    return Loss(cross_entropy(layer(tape.input(in, {9})), tape.input(label)));
  });
  Trainer trainer(net, optimizer, options);
  TraceFile trace;
  trainer.fit(data, trace.following(trainer, {.epochs = 1}));
  trace.save(file);
  EXPECT_EQ(named(content(), "step").size(), 3u);
  EXPECT_TRUE(named(content(), "session bytes").empty());
}

}  // namespace trace_file_test
