// The whole state of a session in a file: a session that stops anywhere and resumes from its file ends in the bits of one that
// did not stop. Case 7 of the hard cases; the state of a different run is refused and nothing is changed.
#include <gtest/gtest.h>

#include "../error_of.hpp"
#include "../resume.hpp"

namespace resume_test {

using namespace resume;

constexpr std::size_t split[] = {7, 100, 1, 300, 104};  // parts end inside blocks, the last one at the window's end
constexpr std::int64_t window = 512;

/// Runs two windows and a part of a third; after micro-batch `killed` the run continues in another session, which knows the
/// first only by its file.
template <class Net, class Optimizer, class... V>
Checkpoint run(const Optimizer& optimizer, int killed, const std::string& file, const V&... data) {
  std::optional<Session<Net, Optimizer>> session;
  session.emplace(Net{}, optimizer, SessionOptions{.global_batch = window, .seed = 7});
  for (int i = 0; i < 13; ++i) {
    std::size_t at = 0;
    for (int k = 0; k < i % 5; ++k) at += split[k];
    session->accumulate(std::span(data).subspan(at * (data.size() / window), split[i % 5] * (data.size() / window))...);
    if (i != killed) continue;
    session->save_state(file);
    session.emplace(Net{}, optimizer, SessionOptions{.global_batch = window, .micro_batch = 50, .seed = 8});
    session->load_state(file);
  }
  EXPECT_EQ(session->step_count(), 2);
  EXPECT_EQ(session->position(), 108);
  EXPECT_EQ(session->options().seed, 7u);
  const Checkpoint inside = session->state();
  session->flush();
  Checkpoint result = session->state();
  result.notes["before the last step"] = inside.note("window");
  return result;
}

template <class Net, class Optimizer, class... V>
void expect_same_after_any_kill(const Optimizer& optimizer, const std::string& file, const V&... data) {
  const Checkpoint whole = run<Net>(optimizer, -1, file, data...);
  for (int killed = 0; killed < 13; ++killed)
    EXPECT_TRUE(equal(whole, run<Net>(optimizer, killed, file, data...))) << "killed after " << killed;
}

/// Computes a value of parameters alone, once per window.
struct Derived : Classifier {
  Parameter scale;
  constexpr explicit Derived(Scope s) : Classifier(s), scale(s.parameter("scale", Shape{17, 5}, init::uniform(1))) {}
  constexpr Loss loss(Var x, Var label) const {
    return {cross_entropy(matmul(relu(hidden(x)), exp(scale.on(x))), label)};
  }
};

TEST_F(Resume, AfterEveryMicroBatchOfAWindow) {  // case 7
  expect_same_after_any_kill<Compiled<Derived, Inputs<f32[9], i32>>>(Accumulate{Adam{}}, file, numbers(window * 9),
                                                                     labels(window, 5));
  expect_same_after_any_kill<ClassifierNet>(Accumulate{Adam{}}, file, numbers(window * 9), labels(window, 5));
  const auto sgd = Accumulate{ClipByGlobalNorm{Sgd{.momentum = 0.9f, .weight_decay = 0.01f}, 0.5}};
  expect_same_after_any_kill<SequenceNet>(sgd, file, numbers(window * 18), numbers(window * 6, 2));
  auto weights = numbers(window, 3);
  for (float& w : weights) w = w < 0 ? 0.0f : w;
  const auto scheduled = Accumulate{AdamW{.learning_rate = schedule::cosine(0.01, 3)}};
  expect_same_after_any_kill<WeightedNet>(scheduled, file, numbers(window * 4), numbers(window * 3, 2), weights);
}

TEST_F(Resume, WhereAWindowIsCountedInCalls) {
  const auto x = numbers(30 * 9);
  const auto y = labels(30, 5);
  const auto optimizer = Accumulate{Adam{}, 3};
  using S = Session<ClassifierNet, Accumulate<Adam>>;
  S still(ClassifierNet{}, optimizer, {.micro_batch = 8});
  for (int i = 0; i < 8; ++i) {
    S again(ClassifierNet{}, optimizer, {.micro_batch = 8, .seed = 5});
    again.restore(still.state());
    EXPECT_EQ(again.accumulate(x, y), still.accumulate(x, y));
    EXPECT_TRUE(equal(again.state(), still.state())) << i;
  }
  EXPECT_EQ(still.step_count(), 2);
  S samples(ClassifierNet{}, Accumulate{Adam{}}, {.global_batch = 100});
  EXPECT_EQ(error_of<OptionError>([&] { samples.restore(still.state()); }),
            "the state holds 60 samples of 2 calls of a window; this session's windows are of 100 samples");
  Checkpoint counted = still.state();
  counted.notes["calls"] = "0";  // as if a call failed after its first parts
  still.restore(counted);
  counted.notes["calls"] = "3";
  EXPECT_EQ(error_of<OptionError>([&] { still.restore(counted); }),
            "the state holds 60 samples of 3 calls of a window; this session's windows are of 3 calls");
  counted.notes["calls"] = "2";
  counted.notes["position"] = "1099511627777";  // their positions cannot be counted
  EXPECT_EQ(error_of<FileError>([&] { still.restore(counted); }), "the file's note 'position' cannot be '1099511627777'");
}

TEST_F(Resume, OnlySumsThatHaveBegunAndBlocksThatAreOpenAreKept) {
  const auto x = numbers(129 * 18), y = numbers(129 * 6, 2);
  Session session(SequenceNet{}, Accumulate{Sgd{}},
                  {.global_batch = 256, .micro_batch = 128, .open_blocks = OpenBlocks::always});
  const auto kept = [&](std::string_view kind) {
    int count = 0;
    for (const auto& [name, tensor] : session.state().tensors) count += name.starts_with(kind);
    return count;
  };
  EXPECT_EQ(kept("window/"), 0);
  session.accumulate(std::span(x).first(128 * 18), std::span(y).first(128 * 6));  // blocks of 128 and of 32 samples
  EXPECT_GT(kept("window/sum/"), 0);
  EXPECT_EQ(kept("window/open/"), 0);
  session.accumulate(std::span(x).last(18), std::span(y).last(6));
  EXPECT_EQ(kept("window/open/"), kept("window/sum/"));
  session.close_blocks();
  EXPECT_EQ(kept("window/open/"), 0);
}

TEST_F(Resume, AClosedWindowStaysClosed) {
  Session session(ClassifierNet{}, Accumulate{Adam{}}, {.global_batch = 64});
  session.accumulate(numbers(20 * 9), labels(20, 5));
  session.close_blocks();
  Session again(ClassifierNet{}, Accumulate{Adam{}}, {.global_batch = 64, .seed = 2});
  again.restore(session.state());
  EXPECT_EQ(session.flush() + again.flush(), 2);
  EXPECT_TRUE(equal(session.state(), again.state()));
}

/// The classifier with one layer more; `WithTanh`: with another activation.
struct Deeper : Classifier {
  Parameter scale;
  constexpr explicit Deeper(Scope s) : Classifier(s), scale(s.parameter("scale", Shape{5}, init::constant(1))) {}
  constexpr Loss loss(Var x, Var label) const {
    return {cross_entropy(predict(x) * scale, label), metric("accuracy", argmax(predict(x)) == label)};
  }
};
struct WithTanh : Classifier {
  using Classifier::Classifier;
  constexpr Loss loss(Var x, Var label) const {
    Var scores = output(tanh(hidden(x)));
    return {cross_entropy(scores, label), metric("accuracy", argmax(scores) == label)};
  }
};
using Labelled = Inputs<f32[9], i32>;

/// Returns the error of restoring a state that `spoil` has changed, and expects a refusal to change nothing.
template <class Net = ClassifierNet, class Rule = Adam, class E = FileError, class F>
std::string refusal(const SessionOptions& options, F spoil) {
  Session<ClassifierNet, Accumulate<Adam>> source(ClassifierNet{}, Accumulate{Adam{}}, {.global_batch = 64, .seed = 1});
  source.accumulate(numbers(85 * 9), labels(85, 5));
  Checkpoint state = source.state();
  spoil(state);
  Session<Net, Accumulate<Rule>> session(Net{}, Accumulate{Rule{}}, options);
  const Checkpoint before = session.state();
  const std::string error = error_of<E>([&] { session.restore(state); });
  EXPECT_TRUE(error == "accepted" || equal(before, session.state()));
  return error;
}
constexpr auto as_it_is = [](Checkpoint&) {};

TEST_F(Resume, AStateOfAnotherKindIsRefusedByName) {
  const SessionOptions options{.global_batch = 64};
  EXPECT_EQ(refusal(options, as_it_is), "accepted");
  EXPECT_EQ((refusal<ClassifierNet, AdamW>(options, as_it_is)),
            "the state is of another optimizer: 'gradual::Adam' instead of 'gradual::AdamW'");
  EXPECT_EQ((refusal<Compiled<Deeper, Labelled>>(options, as_it_is)),
            "the state is of another net: it has no parameter where this one has 'scale [5]'");
  const std::string why = refusal<Compiled<WithTanh, Labelled>>(options, as_it_is);
  EXPECT_NE(why.find("into a window, by a model that computes something else from the same parameters"), std::string::npos)
      << why;
  EXPECT_EQ(refusal({.global_batch = 64, .reduction = Reduction::sum}, as_it_is),
            "the state is of another reduction: 'mean' instead of 'sum'");
  const SessionOptions may_differ{
      .global_batch = 64, .threads = 2, .freeze = {"hidden/*"}, .non_finite = NonFinite::raise, .noise_batch = 8};
  EXPECT_EQ(refusal(may_differ, as_it_is), "accepted");
  const auto noted = [&](const char* name, const char* text) {
    return refusal(options, [&](Checkpoint& state) { state.notes[name] = text; });
  };
  EXPECT_EQ(noted("block", "64"), "the state is of another block: '64' instead of '128'");
  EXPECT_EQ(noted("training state", "2"), "the state is of another training state: '2' instead of '1'");
  EXPECT_EQ(noted("parameters", "hidden/weight [9, 16]\n"),
            "the state is of another net: it has 'hidden/weight [9, 16]' where this one has 'hidden/weight [9, 17]'");
  for (const char* bad : {"", "-1", "1x", "1e3", "99999999999999999999"})
    EXPECT_NE(noted("step", bad), "accepted") << bad;
  for (const char* bad : {"", "1", "1 2 3", "1 2 3 4 5", "1  2 3 4", "1 2 3 4 ", "1,2,3,4", "-1 2 3 4"})
    EXPECT_NE(noted("window", bad), "accepted") << bad;
  EXPECT_EQ(noted("window", "1 nan inf -inf"), "accepted");
  EXPECT_EQ((refusal<ClassifierNet, Adam, OptionError>(options, [](Checkpoint& state) {
              state.notes["again"] = "64", state.notes["dropped"] = "60";  // Adam evaluates no window again
            })),
            "the state holds 21 samples of 0 calls of a window; this session's windows are of 4 samples");
}

/// Differ in the type of what they round, or in the axis that they scale.
template <DType D, int Axis>
struct Rounding {
  Parameter scale;
  constexpr explicit Rounding(Scope s) : scale(s.parameter("scale", Shape{3}, init::uniform(1))) {}
  constexpr Loss loss(Var x) const {
    const Var factor = reshape(scale.on(x), Axis == 0 ? Shape{3, 1} : Shape{1, 3});
    return {mean_per_sample(square(convert(reshape(x, Shape::per_sample({3, 3})) * factor, D)))};
  }
};

/// Whether a state of a session of one net inside a window goes on in one of another net.
template <class From, class To>
bool goes_on() {
  Session<Compiled<From, Inputs<f32[9]>>, Accumulate<Adam>> source({}, Accumulate{Adam{}}, {.global_batch = 64});
  Session<Compiled<To, Inputs<f32[9]>>, Accumulate<Adam>> session({}, Accumulate{Adam{}}, {.global_batch = 64});
  source.accumulate(numbers(20 * 9));
  return error_of<FileError>([&] { session.restore(source.state()); }) == "accepted";
}

TEST_F(Resume, AWindowOfAnotherTypeOrShapeIsRefused) {
  using Plain = Rounding<DType::bf16, 0>;
  EXPECT_TRUE((goes_on<Plain, Plain>()));
  EXPECT_FALSE((goes_on<Plain, Rounding<DType::f16, 0>>()));
  EXPECT_FALSE((goes_on<Plain, Rounding<DType::bf16, 1>>()));
}

TEST_F(Resume, AStateThatLacksAnythingIsRefused) {
  const SessionOptions options{.global_batch = 64};
  Checkpoint whole;
  ASSERT_EQ(refusal(options, [&](Checkpoint& state) { whole = state; }), "accepted");
  ASSERT_TRUE(whole.tensors.contains("window/open/" + whole.tensors.rbegin()->first.substr(11)));  // inside a block
  for (const auto& [name, tensor] : whole.tensors) {
    const std::string text = refusal(options, [name = name](Checkpoint& state) { state.tensors.erase(name); });
    EXPECT_EQ(text.substr(0, text.find(';')), "the file has no tensor '" + name + "'");
    EXPECT_NE(refusal(options, [name = name](Checkpoint& state) { state.tensors[name].shape.push_back(1); }),
              "accepted")
        << name;
  }
  for (const auto& [name, text] : whole.notes)
    EXPECT_NE(refusal(options, [name = name](Checkpoint& state) { state.notes.erase(name); }), "accepted") << name;
}

TEST_F(Resume, AWindowThatDoesNotFitIsRefused) {
  EXPECT_EQ((refusal<ClassifierNet, Adam, OptionError>({.global_batch = 21}, as_it_is)),
            "the state holds 21 samples of 0 calls of a window; this session's windows are of 21 samples");
  EXPECT_EQ(
      (refusal<ClassifierNet, Adam, OptionError>(
          {.global_batch = 256, .micro_batch = 128, .open_blocks = OpenBlocks::as_needed}, as_it_is)),
      "the state ends at sample 21 of a window, inside a block of 128 samples; OpenBlocks::always has memory for that");
}

/// Weights are computed, so that no data are refused.
struct Signed : Classifier {
  using Classifier::Classifier;
  constexpr Loss loss(Var x, Var label, Var weight) const {
    return Loss(cross_entropy(predict(x), label)).weighted_by(2.0 * weight);
  }
};

TEST_F(Resume, AWindowStillHasTheNegativeWeightThatItHadBefore) {
  const auto x = numbers(32 * 9);
  const auto y = labels(32, 5);
  std::vector<float> weights(32, 1.0f);
  weights[3] = -1, weights[5] = -1;
  using Net = Compiled<Signed, Inputs<f32[9], i32, f32>>;
  const SessionOptions options{.global_batch = 32, .micro_batch = 8};
  Session whole(Net{}, Accumulate{Adam{}}, options), resumed(Net{}, Accumulate{Adam{}}, options);
  const auto give = [&](auto& session, std::size_t first, std::size_t count) {
    session.accumulate(std::span(x).subspan(9 * first, 9 * count), std::span(y).subspan(first, count),
                       std::span(weights).subspan(first, count));
  };
  give(whole, 0, 16);
  whole.save_state(file);
  resumed.load_state(file);
  const std::string why = error_of<DataError>([&] { give(whole, 16, 16); });
  EXPECT_EQ(why.substr(0, 29), "weight 3 of a window is -2: a");
  EXPECT_EQ(error_of<DataError>([&] { give(resumed, 16, 16); }), why);
  give(whole, 0, 16);
  for (const char* bad : {"!", "!3", "!3 2", "!-1 -2", "!x -2", "!3 -2x", "!3x-2", "!3 -2;1"}) {
    Checkpoint damaged = whole.state();
    damaged.notes["window"] = damaged.note("window").substr(0, damaged.note("window").find('!')) + bad;
    EXPECT_THROW(resumed.restore(damaged), FileError) << bad;
  }
}

TEST_F(Resume, AWindowMayBecomeLonger) {
  const auto x = numbers(200 * 9);
  const auto y = labels(200, 5);
  Session begun(ClassifierNet{}, optimizer, {.global_batch = 150}),
      longer(ClassifierNet{}, optimizer, {.global_batch = 200, .seed = 1}),
      whole(ClassifierNet{}, optimizer, {.global_batch = 200});
  begun.accumulate(std::span(x).first(140 * 9), std::span(y).first(140));
  longer.restore(begun.state());
  longer.accumulate(std::span(x).subspan(140 * 9), std::span(y).subspan(140));
  whole.accumulate(x, y);
  EXPECT_TRUE(equal(whole.state(), longer.state()));
}

TEST_F(Resume, AFileOfTheStateServesInference) {
  Session session(ClassifierNet{}, optimizer, {.global_batch = 64});
  session.save_state(file);
  float a[5], b[5];
  const auto x = numbers(9);
  Inference<ClassifierNet>(load(file))(x, a);
  Inference<ClassifierNet>(session.parameters().values())(x, b);
  EXPECT_EQ(std::memcmp(a, b, sizeof(a)), 0);
  save_parameters<ClassifierNet>(file, session.parameters());
  EXPECT_TRUE(error_of<FileError>([&] { session.load_state(file); }).starts_with(file + ": the file is not a state, as "));
}

TEST_F(Resume, WhoGoesOnMayChooseOtherParametersForAnAdapter) {
  const auto decayed = [&](std::string_view before, std::string_view after) {
    const auto decaying = [](std::string_view name) {
      return Accumulate{WeightDecay{Sgd{.learning_rate = 0.0f}, 0.5, {{name}}}};
    };
    Session first(ClassifierNet{}, decaying(before), {.global_batch = 20, .seed = 1});
    first.accumulate(numbers(20 * 9), labels(20, 5));
    Session second(ClassifierNet{}, decaying(after), {.global_batch = 20, .seed = 2});
    second.restore(first.state());
    const float weight = second.parameters()["output/weight"].values[0];
    second.accumulate(numbers(20 * 9), labels(20, 5));
    return second.parameters()["output/weight"].values[0] == weight * 0.5f;
  };
  EXPECT_TRUE(decayed("hidden/*", "output/*"));
  EXPECT_FALSE(decayed("output/*", "hidden/*"));
}

TEST(States, CompilersSpellTypesAlike) {
  const auto expected = "Ema<ClipByGlobalNorm<Adam>>";
  for (const char* text : {"const char* named_type() [with T = Ema<ClipByGlobalNorm<Adam> >]",
                           "const char *named_type() [T = Ema<ClipByGlobalNorm<Adam>>]"})
    EXPECT_EQ(gradual::detail::name_in(text), expected);
  EXPECT_EQ(gradual::detail::name_in("[with T = {anonymous}::Mine<std::pair<A<B<int> > > >]"),
            "(anonymous namespace)::Mine<std::pair<A<B<int>>>>");
}

}  // namespace resume_test
