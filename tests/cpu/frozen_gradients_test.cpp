// Computations for frozen parameters alone are left out, which changes no bit of what the others learn.
#include <gtest/gtest.h>

#include "../both_ways.hpp"
#include "../error_of.hpp"

namespace frozen_gradients_test {

using namespace both_ways;

constexpr auto sgd = Accumulate{Sgd{.learning_rate = 0.1f}};

/// Returns the parameters after one window, given in parts of these sizes.
template <class Net, class... T>
std::vector<float> learned(const std::vector<std::string>& freeze, const std::vector<std::int64_t>& sizes, int threads,
                           const Samples<T>&... data) {
  Session session(Net{}, sgd, {.global_batch = samples, .micro_batch = 60, .threads = threads, .freeze = freeze});
  for_parts(sizes, [&](std::int64_t at, std::int64_t count) { session.accumulate(data.part(at, count)...); });
  EXPECT_EQ(session.step_count(), 1);
  const auto values = session.parameters().values();
  return {values.begin(), values.end()};
}

/// Returns the same for an eager session.
template <class Model, class... T>
std::vector<float> learned_eagerly(const std::vector<std::string>& freeze, const Samples<T>&... data) {
  Parameters parameters(Device::cpu());
  const Model net(parameters.root());
  Session session(parameters, sgd, {.global_batch = samples, .freeze = freeze});
  for_parts({22, 60}, [&](std::int64_t at, std::int64_t count) {
    session.accumulate(count, [&](EagerTape& tape) { return net.loss(tape.input(data.part(at, count), data.sample)...); });
  });
  const auto values = parameters.values();
  return {values.begin(), values.end()};
}

/// Checks each parameter frozen alone, and each learning alone.
template <class Net, class Model, class... T>
void expect_bits_of_all_learning(const Samples<T>&... data) {
  const Session session(Net{}, sgd, {.global_batch = samples});
  const auto begun = session.parameters().values();
  const std::vector<float> all = learned<Net>({}, {60}, 1, data...);
  std::vector<std::string> names;
  for (const auto& parameter : session.parameters()) names.emplace_back(parameter.name);
  for (std::size_t one = 0; one < names.size(); ++one)
    for (const bool alone : {false, true}) {
      std::vector<std::string> frozen{names[one]};
      if (alone) frozen = names, frozen.erase(frozen.begin() + static_cast<std::ptrdiff_t>(one));
      std::vector<float> expected;
      for (std::size_t p = 0; p < names.size(); ++p) {
        const auto values = session.parameters()[names[p]].values;
        const auto from = (p == one) == alone ? all.data() + (values.data() - begun.data()) : values.data();
        expected.insert(expected.end(), from, from + std::ssize(values));
      }
      EXPECT_EQ(learned<Net>(frozen, {60}, 1, data...), expected) << names[one] << (alone ? " alone" : " frozen");
      EXPECT_EQ(learned<Net>(frozen, {7, 1, 30, 22}, 2, data...), expected) << names[one] << " in parts";
      EXPECT_EQ(learned_eagerly<Model>(frozen, data...), expected) << names[one] << " eagerly";
    }
}

TEST(FrozenGradients, OthersLearnTheSameBits) {
  const Samples<float> images{numbers(samples * 16), {1, 4, 4}};
  const Samples<std::int32_t> tokens{labels(samples, 7), {}}, classes{labels(samples, 3), {}};
  expect_bits_of_all_learning<SumsNet, Sums>(images, tokens, classes);
  const Samples<float> pieces{numbers(samples * 108), {3, 36}}, pairs{numbers(samples * 2), {2}};
  expect_bits_of_all_learning<SharedNet, Shared>(pieces, pairs);
  const Samples<float> steps{numbers(samples * 18), {3, 6}}, targets{numbers(samples * 6), {3, 2}};
  expect_bits_of_all_learning<SequenceNet, Sequence>(steps, targets);
}

TEST(FrozenGradients, AreNotComputed) {
  const auto x = numbers(24 * 9);
  const auto y = labels(24, 5);
  Session session(ClassifierNet{}, sgd, {.global_batch = 64, .freeze = {"hidden/*"}});
  session.accumulate(x, y);
  session.close_blocks();
  const auto sums = session.accumulator();
  constexpr std::ptrdiff_t hidden = 9 * 17 + 17;
  EXPECT_TRUE(std::all_of(sums.begin(), sums.begin() + hidden, [](float sum) { return sum == 0; }));
  EXPECT_TRUE(std::all_of(sums.begin() + hidden, sums.end(), [](float sum) { return sum != 0; }));
}

/// Expects kernels to read only what needed kernels compute: a kernel computes all of its nodes, even unneeded ones.
template <class Net>
void expect_kernels_have_what_they_read() {
  constexpr const ProgramTables& program = Net::Training::tables;
  std::ptrdiff_t left_out = 0;
  for (int p = 0; p < Net::parameter_count; ++p) {
    const gradual::detail::NeededKernels kernels(program, std::span(&p, 1));
    const bool* const needed = kernels.groups();
    left_out += std::count(needed, needed + program.group_count, false);
    for (int i = 0; i < program.size(); ++i) {
      if (program.group_of[i] < 0 || !needed[program.group_of[i]]) continue;
      for (int read : program.node(i).in) {
        while (read >= 0 && program.group_of[read] < 0) read = program.node(read).in[0];  // what is recomputed, or a view
        EXPECT_TRUE(read < 0 || needed[program.group_of[read]]) << p << ": " << i << " reads " << read;
      }
    }
  }
  EXPECT_GT(left_out, 0);
}

TEST(FrozenGradients, KernelsHaveWhatTheyRead) {
  expect_kernels_have_what_they_read<SumsNet>();
  expect_kernels_have_what_they_read<SharedNet>();
  expect_kernels_have_what_they_read<SequenceNet>();
  expect_kernels_have_what_they_read<ClassifierNet>();
}

TEST(FrozenGradients, AWindowGoesOnWithTheSameFrozen) {
  const auto x = numbers(64 * 9);
  const auto y = labels(64, 5);
  const auto part = [&](auto& session, std::size_t at, std::size_t count) {
    session.accumulate(std::span(x).subspan(at * 9, count * 9), std::span(y).subspan(at, count));
  };
  const SessionOptions options{.global_batch = 64, .open_blocks = OpenBlocks::always, .freeze = {"hidden/*"}};
  Session whole(ClassifierNet{}, sgd, options), begun(ClassifierNet{}, sgd, options), ended(ClassifierNet{}, sgd, options);
  part(whole, 0, 64);
  part(begun, 0, 24);
  ended.restore(begun.state());
  part(ended, 24, 40);
  EXPECT_EQ(differing_bits(whole.parameter_bytes(), ended.parameter_bytes()), 0);

  Session free(ClassifierNet{}, sgd, {.global_batch = 64, .open_blocks = OpenBlocks::always});
  EXPECT_EQ(error_of<FileError>([&] { free.restore(begun.state()); }),
            "the state ends at sample 24 of a window in which 'hidden/weight' is frozen: freeze it here as well, or save where a "
            "window ends");
  part(free, 0, 24);
  ended.restore(free.state());  // more than it needs
  part(ended, 24, 40);
  EXPECT_EQ(differing_bits(whole.parameter_bytes(), ended.parameter_bytes()), 0);
}

}  // namespace frozen_gradients_test
