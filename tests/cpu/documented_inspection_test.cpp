// Checks, kernels and traces: the code of the guides that look inside, and layers one after another.
#include <filesystem>
#include <iostream>
#include <string>

#include <gradual/check/test_model.hpp>
#include <gradual/check/test_splits.hpp>

#include "../documented.hpp"

namespace documented_inspection_test {

using namespace documented;

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

struct Stack {
  nn::Sequential<nn::Linear, nn::Relu, nn::Linear> layers;
  constexpr explicit Stack(Scope s) : layers{nn::Linear(s / "a", 4, 8), nn::Relu(), nn::Linear(s / "b", 8, 2)} {}
  constexpr Var predict(Var x) const { return layers(x); }
};

TEST_F(Documented, LayersOneAfterAnother) {
  using Layers = Compiled<Stack, Inputs<f32[4]>>;
  EXPECT_EQ(Layers::parameter(0).name.view(), "a/weight");
  EXPECT_EQ(Layers::parameter(3).name.view(), "b/bias");
}

}  // namespace documented_inspection_test
