// Nets that go on learning on a device: heads on frozen layers, narrow matrices beside them, answers of a teacher, tables that
// lie outside the net. The code of docs/guides/on-a-device.md and of the last section of docs/guides/recommenders.md.
#include <algorithm>
#include <cmath>
#include <random>

#include "../documented.hpp"

namespace documented_on_a_device_test {

using namespace documented;

struct Features {
  nn::Linear first, second;
  constexpr explicit Features(Scope s) : first(s / "first", 16, 32), second(s / "second", 32, 24) {}
  constexpr Var predict(Var x) const { return tanh(second(tanh(first(x)))); }
};

struct Head {
  nn::Linear output;
  constexpr explicit Head(Scope s) : output(s / "output", 24, 4) {}
  constexpr Var predict(Var seen) const { return output(seen); }
  constexpr Loss loss(Var seen, Var y) const { return {cross_entropy(predict(seen), y)}; }
};

struct Whole {
  Features features;
  Head head;
  constexpr explicit Whole(Scope s) : features(s), head(s) {}
  constexpr Var predict(Var x) const { return head.predict(features.predict(x)); }
  constexpr Loss loss(Var x, Var y) const { return {cross_entropy(predict(x), y)}; }
};

using WholeNet = Compiled<Whole, Inputs<f32[16], i32>>;
using FeaturesNet = Compiled<Features, Inputs<f32[16]>>;
using HeadNet = Compiled<Head, Inputs<f32[24], i32>>;

struct Adapted {  // a layer, and a change of low rank to it
  nn::Linear layer;
  Parameter down, up;
  constexpr Adapted(Scope s, int in, int out, int rank)
      : layer(s, in, out), down(s.parameter("down", Shape{in, rank}, init::kaiming_uniform(in))),
        up(s.parameter("up", Shape{rank, out}, init::zeros())) {}
  constexpr Var operator()(Var x) const { return layer(x) + matmul(matmul(x, down), up); }
};

struct LowRank {
  Adapted first, second;
  nn::Linear output;
  constexpr explicit LowRank(Scope s)
      : first(s / "first", 16, 32, 2), second(s / "second", 32, 24, 2), output(s / "output", 24, 4) {}
  constexpr Var predict(Var x) const { return output(tanh(second(tanh(first(x))))); }
  constexpr Loss loss(Var x, Var y) const { return {cross_entropy(predict(x), y)}; }
};
using LowRankNet = Compiled<LowRank, Inputs<f32[16], i32>>;

/// Adds the products of the narrow matrices to the weights beside them.
Checkpoint merged(const Checkpoint& file, const std::vector<std::string>& layers) {
  Checkpoint result = file;
  for (const std::string& layer : layers) {
    const auto &down = file.tensor(layer + "/down"), &up = file.tensor(layer + "/up");
    const auto rank = static_cast<std::size_t>(up.shape[0]), out = static_cast<std::size_t>(up.shape[1]);
    auto& weight = result.tensors.at(layer + "/weight").values;
    for (std::size_t i = 0; i < weight.size(); ++i)
      for (std::size_t k = 0; k < rank; ++k) weight[i] += down.values[i / out * rank + k] * up.values[k * out + i % out];
  }
  return result;
}

struct Taught {  // by answers of a larger net, softened, and by labels
  nn::Linear hidden, output;
  constexpr explicit Taught(Scope s) : hidden(s / "hidden", 16, 8), output(s / "output", 8, 4) {}
  constexpr Var predict(Var x) const { return output(tanh(hidden(x))); }
  constexpr Loss loss(Var x, Var soft, Var y) const {
    const Var scores = predict(x), from_teacher = -sum(soft * log_softmax(scores / 4.0), {1});
    return {0.9 * 16.0 * from_teacher + 0.1 * cross_entropy(scores, y)};  // 4², since slopes are a quarter, twice
  }
};
using TaughtNet = Compiled<Taught, Inputs<f32[16], f32[4], i32>>;

struct Softened {  // the teacher's answers
  Whole teacher;
  constexpr explicit Softened(Scope s) : teacher(s) {}
  constexpr Var predict(Var x) const { return softmax(teacher.predict(x) / 4.0); }
};
using SoftenedNet = Compiled<Softened, Inputs<f32[16]>>;

struct TaughtInside {  // the same net with the teacher in it
  Taught taught;
  Softened teacher;
  constexpr explicit TaughtInside(Scope s) : taught(s), teacher(s / "teacher") {}
  constexpr Var predict(Var x) const { return taught.predict(x); }
  constexpr Loss loss(Var x, Var y) const { return taught.loss(x, stop_gradient(teacher.predict(x)), y); }
};
using TaughtInsideNet = Compiled<TaughtInside, Inputs<f32[16], i32>>;

/// Points, and the largest of four functions of each, which differ by `person`.
struct Person {
  std::vector<float> x;
  std::vector<std::int32_t> y;
  Person(int samples, float person, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (int i = 0; i < samples; ++i) {
      float sum[4] = {};
      for (int c = 0; c < 16; ++c) {
        x.push_back(normal(random));
        for (int k = 0; k < 4; ++k) sum[k] += x.back() * std::cos(float(c * (k + 1)) + person);
      }
      y.push_back(static_cast<std::int32_t>(std::max_element(sum, sum + 4) - sum));
    }
  }
};

template <class Learner, class... Data>
void learn(Learner& session, int epochs, const Data&... data) {
  for (int epoch = 0; epoch < epochs; ++epoch) session.accumulate(data...);
}

struct DocumentedOnADevice : Documented {
  const Person everyone{512, 0, 1}, mine{256, 0.5f, 2}, later{512, 0.5f, 3};
  DocumentedOnADevice() {
    Session session(WholeNet{}, Accumulate{Adam{.learning_rate = 5e-3f}}, {.global_batch = 64, .seed = 1});
    learn(session, 60, everyone.x, everyone.y);
    save_parameters("whole.safetensors", session.parameters());
  }
  static double accuracy(const Checkpoint& file, const std::vector<float>& x, const std::vector<std::int32_t>& y) {
    Inference<WholeNet> net(file, 64);
    std::vector<float> scores(y.size() * 4);
    net(x, scores);
    return ConfusionMatrix(scores, y).accuracy();
  }
  /// Returns the same points, whose classes are counted from the other end.
  static Person named_otherwise(Person person) {
    for (std::int32_t& label : person.y) label = 3 - label;
    return person;
  }
};

TEST_F(DocumentedOnADevice, AHeadLearnsFromFeaturesThatAreComputedOnce) {
  const auto [x, y] = named_otherwise(Person(256, 0, 4));
  const auto [later_x, later_y] = named_otherwise(Person(512, 0, 5));
  const auto adam = Accumulate{Adam{.learning_rate = 2e-2f}};
  const Checkpoint file = load("whole.safetensors");
  Inference<FeaturesNet> features(file, 64);
  std::vector<float> seen(y.size() * 24);
  features(x, seen);  // once for all epochs
  Session head(HeadNet{}, adam, {.global_batch = 64});
  load_parameters(file, head.parameters());
  for (int epoch = 0; epoch < 50; ++epoch) head.accumulate(seen, y);

  Session whole(WholeNet{}, adam, {.global_batch = 64, .freeze = {"first/*", "second/*"}});
  load_parameters(file, whole.parameters());
  learn(whole, 50, x, y);
  EXPECT_TRUE(std::ranges::equal(whole.parameters()["output/weight"].values, head.parameters()["output/weight"].values));
  EXPECT_LT(10 * HeadNet::training_memory(adam, 64).persistent(), WholeNet::training_memory(adam, 64).persistent());

  Checkpoint both = file;
  for (auto [name, shape, values] : head.parameters())
    std::ranges::copy(values, both.tensors.at(std::string(name)).values.begin());
  EXPECT_LT(accuracy(file, later_x, later_y), 0.3);
  EXPECT_GT(accuracy(both, later_x, later_y), 0.75);
}

TEST_F(DocumentedOnADevice, NarrowMatricesLearnBesideFrozenOnes) {
  const auto& [x, y] = mine;
  const Checkpoint file = load("whole.safetensors");
  Session session(LowRankNet{}, Adam{.learning_rate = 5e-3f}, {.global_batch = 64, .freeze = {"*/weight", "*/bias"}});
  for (const char* frozen : {"*/weight", "*/bias"}) load_parameters(file, session.parameters(), frozen);
  std::vector<float> untuned(256 * 4), after(256 * 4);
  Inference<WholeNet>(file, 64)(x, untuned);
  EXPECT_EQ(session.predict(x), untuned);  // `up` begins with zeros
  for (int epoch = 0; epoch < 50; ++epoch) session.accumulate(x, y);
  save_parameters("mine.safetensors", session.parameters());

  EXPECT_TRUE(std::ranges::equal(session.parameters()["first/weight"].values, file.tensor("first/weight").values));
  const Checkpoint tuned = merged(load("mine.safetensors"), {"first", "second"});
  Inference<WholeNet> one_net(tuned, 64);
  one_net(x, after);
  const std::vector<float> apart = session.predict(x);
  for (std::size_t i = 0; i < after.size(); ++i) EXPECT_NEAR(after[i], apart[i], 1e-4);
  EXPECT_GT(accuracy(tuned, later.x, later.y), accuracy(file, later.x, later.y) + 0.05);
}

TEST_F(DocumentedOnADevice, ATeacherMayAnswerBeforehand) {
  const auto& [x, y] = everyone;
  const auto adam = Accumulate{Adam{.learning_rate = 5e-3f}};
  Inference<SoftenedNet> teacher(load("whole.safetensors"), 64);
  std::vector<float> soft(y.size() * 4);
  teacher(x, soft);
  Session student(TaughtNet{}, adam, {.global_batch = 64});
  for (int epoch = 0; epoch < 50; ++epoch) student.accumulate(x, soft, y);

  Session inside(TaughtInsideNet{}, adam, {.global_batch = 64, .freeze = {"teacher/*"}});
  inside.set_parameters(Session(TaughtNet{}, adam, {.global_batch = 64}).parameters(), "hidden/*");
  inside.set_parameters(Session(TaughtNet{}, adam, {.global_batch = 64}).parameters(), "output/*");
  Checkpoint renamed;
  for (const auto& [name, tensor] : load("whole.safetensors").tensors) renamed.add("teacher/" + name, tensor);
  load_parameters(renamed, inside.parameters(), "teacher/*");
  learn(inside, 50, x, y);
  for (const char* name : {"hidden/weight", "hidden/bias", "output/weight", "output/bias"})
    EXPECT_TRUE(std::ranges::equal(student.parameters()[name].values, inside.parameters()[name].values)) << name;
  EXPECT_GT(ConfusionMatrix(student.predict(everyone.x), everyone.y).accuracy(), 0.8);
}

template <int rows>
struct Rated {
  nn::Embedding item;
  nn::Linear output;
  constexpr explicit Rated(Scope s) : item(s / "item", rows, 16, init::normal(0.05)), output(s / "output", 64, 1) {}
  constexpr Var predict(Var ids) const { return output(flatten(item(ids))); }
  constexpr Loss loss(Var ids, Var y) const { return {bce_with_logits(predict(ids), y)}; }
};
template <int rows>
using RatedNet = Compiled<Rated<rows>, Inputs<i32[4], f32[1]>>;

struct Rows {  // a table that lies outside the net, and what its rule keeps for each row
  static constexpr std::size_t width = 16;
  std::vector<float> values, sums;
  std::vector<std::int32_t> place, used;  // of each row in the net's table, or -1; of that table, the rows here
  explicit Rows(std::size_t rows) : values(rows * width), sums(rows * width), place(rows, -1) {}

  /// Copies the rows that `ids` name to the net's table, and numbers them there in `local`.
  void lend(std::span<const std::int32_t> ids, std::span<std::int32_t> local, std::span<float> table, std::span<float> state) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto row = static_cast<std::size_t>(ids[i]);
      if (place[row] < 0) {
        const std::size_t to = used.size() * width;
        place[row] = static_cast<std::int32_t>(used.size());
        used.push_back(ids[i]);
        std::copy_n(&values[row * width], width, &table[to]);
        std::copy_n(&sums[row * width], width, &state[to]);
      }
      local[i] = place[row];
    }
  }
  /// Copies them back, after the step.
  void take_back(std::span<const float> table, std::span<const float> state) {
    for (std::size_t from = 0; const std::int32_t id : used) {
      const auto row = static_cast<std::size_t>(id);
      std::copy_n(&table[from], width, &values[row * width]);
      std::copy_n(&state[from], width, &sums[row * width]);
      place[row] = -1;
      from += width;
    }
    used.clear();
  }
};

TEST(DocumentedRows, OfATableOutsideTheNetLearnTheSameBits) {
  constexpr int batch = 32, all = 3000, windows = 12;
  std::mt19937 random(1);
  std::vector<std::int32_t> ids(windows * batch * 4);
  std::vector<float> y(windows * batch);
  for (std::int32_t& id : ids) id = static_cast<std::int32_t>(random() % (random() % 2 == 0 ? 20 : all));
  for (float& v : y) v = static_cast<float>(random() % 2);
  Session full(RatedNet<all>{}, Adagrad{.learning_rate = 0.05}, {.global_batch = batch});
  Rows items(all);
  std::ranges::copy(full.parameters()["item/weight"].values, items.values.begin());

  Session session(RatedNet<batch * 4>{}, Adagrad{.learning_rate = 0.05}, {.global_batch = batch});
  session.set_parameters(full.parameters(), "output/*");
  const auto table = session.parameters()["item/weight"].values;
  const auto state = session.optimizer_state(0)["item/weight"].values;  // Adagrad's sums of squares
  std::vector<std::int32_t> local(batch * 4);
  for (std::size_t done = 0; done < y.size(); done += batch) {
    const auto named = std::span(ids).subspan(done * 4, batch * 4);
    items.lend(named, local, table, state);
    session.accumulate(local, std::span(y).subspan(done, batch));  // a whole window
    items.take_back(table, state);
    full.accumulate(named, std::span(y).subspan(done, batch));
  }
  EXPECT_TRUE(std::ranges::equal(items.values, full.parameters()["item/weight"].values));
  EXPECT_TRUE(std::ranges::equal(items.sums, full.optimizer_state(0)["item/weight"].values));
  EXPECT_TRUE(std::ranges::equal(full.parameters()["output/weight"].values, session.parameters()["output/weight"].values));
  EXPECT_NE(std::ranges::count(items.sums, 0.0f), 0);  // rows that no sample has named
}

}  // namespace documented_on_a_device_test
