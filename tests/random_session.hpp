#pragma once
// What happens to a session, drawn from a seed. One session is given long ranges of samples; others get the same ones in parts,
// pass their state on to each other, also inside windows, and answer calls between the parts that may change nothing.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>

#include "both_ways.hpp"
#include "error_of.hpp"
#include "random_numbers.hpp"
#include "resume.hpp"

namespace random_session {

using namespace models;
using both_ways::Samples;

/// Random numbers that are the same on every machine.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : state_(seed) {}
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>((state_ = mix(state_)) >> 8) % n; }
  bool one_in(std::int64_t n) { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

/// Samples that are given one after another.
struct Range {
  std::int64_t first, count;
};
inline constexpr std::int64_t all_samples = 400;

/// A session of any kind with its data.
class Player {
 public:
  virtual ~Player() = default;
  virtual void give(Range) = 0;
  /// Gives them as rows of the data set.
  virtual void give_rows(Range) = 0;
  virtual void flush() = 0;
  virtual void discard() = 0;
  virtual Checkpoint state() const = 0;
  virtual void restore(const Checkpoint&) = 0;
  virtual void set_parameters(std::span<const float>) = 0;
  virtual std::vector<float> parameters() const = 0;
  virtual bool again() const = 0;
  virtual std::int64_t position() const = 0;
  virtual std::int64_t window() const = 0;
  virtual std::int64_t step_count() const = 0;
  virtual std::int64_t dropped_windows() const = 0;
  /// Makes a call that changes nothing, and returns its name.
  virtual const char* look(Chance&) = 0;
  /// Makes a call that must be refused, and returns its name.
  virtual const char* mistake(Chance&) = 0;
  /// Whether a window that was passed on can end at once, without more samples.
  virtual bool ends_passed_windows() const = 0;
};

/// Returns the numbers of samples as rows.
inline std::vector<std::int32_t> rows_of(Range range) {
  std::vector<std::int32_t> rows(static_cast<std::size_t>(range.count));
  std::iota(rows.begin(), rows.end(), static_cast<std::int32_t>(range.first));
  return rows;
}

template <class Session>
class PlayerOf : public Player {
 public:
  void flush() override { at().flush(); }
  void discard() override { at().discard(); }
  Checkpoint state() const override { return at().state(); }
  void restore(const Checkpoint& state) override { at().restore(state); }
  void set_parameters(std::span<const float> values) override { at().set_parameters(values); }
  std::vector<float> parameters() const override {
    const auto values = at().parameters().values();
    return {values.begin(), values.end()};
  }
  bool again() const override { return at().again(); }
  std::int64_t position() const override { return at().position(); }
  std::int64_t window() const override { return at().window(); }
  std::int64_t step_count() const override { return at().step_count(); }
  std::int64_t dropped_windows() const override { return at().dropped_windows(); }

 protected:
  Session& at() { return *session_; }
  const Session& at() const { return *session_; }
  /// Makes a call that must be refused by sessions of any kind, and returns its name.
  const char* any_mistake(Chance& chance) {
    if (chance.one_in(2) && !again()) {
      std::vector<float> values = parameters();
      values.pop_back();
      EXPECT_NE(error_of<DataError>([&] { set_parameters(values); }), "accepted");
      return "set a parameter too few";
    }
    Checkpoint damaged = state();
    auto lost = damaged.tensors.begin();
    std::advance(lost, chance.below(std::ssize(damaged.tensors)));
    // An eager session learns the length of a window's sums only from the next part.
    if (chance.one_in(2) || lost->first.starts_with("window/")) damaged.tensors.erase(lost);
    else lost->second.values.push_back(0), lost->second.shape = {std::ssize(lost->second.values)};
    EXPECT_NE(error_of<FileError>([&] { restore(damaged); }), "accepted");
    return "restore a damaged state";
  }
  std::optional<Session> session_;
};

/// A compiled session.
template <class Model, class Net, class Optimizer, class... T>
class CompiledPlayer : public PlayerOf<Session<Net, Optimizer>> {
  using Data = std::tuple<Samples<T>...>;

 public:
  CompiledPlayer(const Data& data, const Optimizer& optimizer, SessionOptions options, Chance& chance) : data_(data) {
    options.micro_batch = chance.one_in(3) ? 0 : 1 + chance.below(options.global_batch);
    options.gather = true;
    if constexpr (Net::Backend::shares_host_memory) options.threads = static_cast<int>(1 + chance.below(3));
    this->session_.emplace(Net{}, optimizer, options);
    bytes_ = this->at().allocated_bytes();
  }
  void give(Range r) override {
    with(r, [&](auto... spans) { this->at().accumulate(spans...); });
  }
  void give_rows(Range r) override {
    const std::vector<std::int32_t> rows = rows_of(r);
    for (std::int64_t taken = 0; taken < r.count;)
      with({0, all_samples}, [&](auto... spans) {
        this->at().accumulate_rows(std::span(rows).subspan(static_cast<std::size_t>(taken)), 0, false, taken, spans...);
      });
  }
  const char* look(Chance& chance) override {
    const Range some{chance.below(all_samples - 60), 1 + chance.below(60)};
    auto& session = this->at();
    const auto planned = [&](Budget by) { return error_of<MemoryError>([&] { session.set_budget(by); }) == "accepted"; };
    switch (session.again() ? chance.below(4) : chance.below(7)) {
      case 0: {
        Session<Net, Optimizer> other(std::move(session));
        this->session_.emplace(std::move(other));
        return "move";
      }
      case 1: EXPECT_TRUE(planned(bytes_)); return "plan for as much";
      case 2: EXPECT_FALSE(planned(1)); return "plan for too little";
      case 3: planned(bytes_ - chance.below(bytes_ / 2)); return "plan for less, if that suffices";
      case 4: with(some, [&](auto... spans) { session.evaluate(spans...); }); return "evaluate";
      case 5: with(some, [&](auto... spans) { session.losses(spans...); }); return "losses";
      default:
        if constexpr (requires(const Model& model, Var x) { model.predict(x); })
          session.predict(std::get<0>(data_).part(some.first, some.count));
        return "predict";
    }
  }
  const char* mistake(Chance& chance) override {
    if (chance.one_in(2)) return this->any_mistake(chance);
    auto copy = data_;
    auto& first = std::get<0>(copy).values;
    if (chance.one_in(2)) first.pop_back();
    else first[static_cast<std::size_t>(chance.below(std::ssize(first)))] = std::numeric_limits<float>::quiet_NaN();
    const auto give = [&](const auto&... all) { this->at().accumulate(all.values...); };
    EXPECT_NE(error_of<Error>([&] { std::apply(give, copy); }), "accepted");
    return "give what is no data";
  }
  bool ends_passed_windows() const override { return true; }

 private:
  template <class F>
  void with(Range r, F f) {
    std::apply([&](const auto&... all) { f(all.part(r.first, r.count)...); }, data_);
  }

  const Data& data_;
  std::int64_t bytes_;
};

/// An eager session.
template <class Model, class Optimizer, class... T>
class EagerPlayer : public PlayerOf<Session<Parameters, Optimizer, Inputs<>>> {
  using Data = std::tuple<Samples<T>...>;

 public:
  EagerPlayer(const Data& data, const Optimizer& optimizer, SessionOptions options, Chance& chance) : data_(data) {
    if (!chance.one_in(3)) options.micro_batch = 1 + chance.below(options.global_batch);
    options.threads = static_cast<int>(1 + chance.below(2));
    this->session_.emplace(parameters_, optimizer, options);
  }
  void give(Range r) override { this->at().accumulate(r.count, recorder(r)); }
  void give_rows(Range r) override {
    const std::vector<std::int32_t> rows = rows_of(r);
    for (std::int64_t taken = 0; taken < r.count;)
      this->at().accumulate_rows(std::span(rows).subspan(static_cast<std::size_t>(taken)), 0, false, taken,
                                 recorder({r.first + taken, r.count - taken}));
  }
  const char* look(Chance& chance) override {
    const Range some{chance.below(all_samples - 60), 1 + chance.below(60)};
    if (this->again()) return "wait";
    if (chance.one_in(2)) return this->at().evaluate(some.count, recorder(some)), "evaluate";
    return this->at().losses(some.count, recorder(some)), "losses";
  }
  const char* mistake(Chance& chance) override {
    if (chance.one_in(2)) return this->any_mistake(chance);
    const auto record = [&](EagerTape& tape) {
      recorder({0, 5})(tape);
      if (chance.one_in(2)) throw DataError("a model's own");
      return recorder({0, 4})(tape);
    };
    EXPECT_NE(error_of<std::exception>([&] { this->at().accumulate(5, record); }), "accepted");
    return "record what is no loss";
  }
  bool ends_passed_windows() const override { return false; }

 private:
  auto recorder(Range r) {
    return [this, r](EagerTape& tape) {
      return std::apply([&](const auto&... all) { return net_.loss(tape.input(all.part(r.first, r.count), all.sample)...); },
                        data_);
    };
  }

  const Data& data_;
  Parameters parameters_{Device::cpu()};
  Model net_{parameters_.root()};
};

/// Compares two states; between windows, sessions of all kinds have the same.
inline testing::AssertionResult equal(Checkpoint a, Checkpoint b) {
  for (Checkpoint* of : {&a, &b}) {
    if (of->note("position") == "0") of->notes.erase("program");
    for (const char* sums : {"window", "last window"})  // an eager session knows their number only after its first sample
      if (of->note(sums).find_first_not_of("0 ") == std::string::npos) of->notes.erase(sums);
  }
  return resume::equal(a, b);
}

/// What a run consists of.
struct Story {
  std::uint64_t seed;
  SessionOptions options;
  bool twice;  ///< whether the optimizer evaluates each window twice
  bool draws;  ///< whether the model draws random numbers, which for rows of a data set would be others
  bool windows_go_on;  ///< whether sessions of all kinds can go on inside each other's windows
};

using Make = std::function<std::unique_ptr<Player>(const SessionOptions&, Chance&)>;

/// A session, or several after one another, of the kinds in `make`, and what has happened.
class Disturbed {
 public:
  Disturbed(const Story& story, const std::vector<Make>& make) : story_(story), make_(make), chance_(mix(story.seed) ^ 1) {
    player_ = another(true);
  }
  Player& player() { return *player_; }
  const std::string& told() const { return told_; }

  void give(Range range) {
    while (range.count > 0) {
      const Range part{range.first, chance_.one_in(3) ? range.count : 1 + chance_.below(range.count)};
      while (chance_.one_in(2)) disturb(false);
      const bool as_rows = !story_.draws && chance_.one_in(3);
      tell(as_rows ? "give rows" : "give", part.count);
      if (as_rows) player_->give_rows(part);
      else player_->give(part);
      range = {range.first + part.count, range.count - part.count};
    }
  }
  void flush() {
    while (chance_.one_in(2)) disturb(true);
    tell("flush", player_->position());
    player_->flush();
  }

 private:
  void disturb(bool at_end) {
    const Checkpoint before = player_->state();
    switch (chance_.below(4)) {
      case 0:
        if (const std::int64_t most = player_->window(); player_->position() == 0 && !player_->again() && most > 1) {
          const std::int64_t count = 1 + chance_.below(std::min(most - 1, std::int64_t{100}));
          tell("discarded", count);
          player_->give({chance_.below(all_samples - count), count});
          player_->discard();
        }
        break;
      case 1: tell(player_->look(chance_)); break;
      case 2: tell(player_->mistake(chance_)); break;
      default: {
        if (player_->position() > 0 && at_end && !player_->ends_passed_windows()) break;
        const bool any = story_.windows_go_on || (player_->position() == 0 && !player_->again());
        player_ = another(any);
        tell("pass on to", kind_);
        player_->restore(before);
      }
    }
    EXPECT_TRUE(equal(before, player_->state()));
  }
  std::unique_ptr<Player> another(bool of_any_kind) {
    if (of_any_kind) kind_ = chance_.below(std::ssize(make_));
    return make_[static_cast<std::size_t>(kind_)](story_.options, chance_);
  }
  void tell(const std::string& what) { told_ += what + ", "; }
  void tell(const std::string& what, std::int64_t number) { tell(what + " " + std::to_string(number)); }

  const Story& story_;
  const std::vector<Make>& make_;
  Chance chance_;
  std::int64_t kind_ = 0;
  std::unique_ptr<Player> player_;
  std::string told_;
};

/// How many windows a session has stepped on, and how many it has dropped.
struct Windows {
  std::int64_t stepped = 0, dropped = 0;
};

/// Expects equal states of a session of the first kind in `make` and of disturbed ones, wherever a window ends. Returns how
/// many windows there were.
inline Windows expect_undisturbed(const Story& story, const std::vector<Make>& make) {
  Chance chance(story.seed), ways(0);
  Disturbed disturbed(story, make);
  const std::unique_ptr<Player> plain = make[0](story.options, ways);
  const auto give_range = [&] {
    const std::int64_t most = story.twice ? std::min(story.options.global_batch, all_samples) : all_samples;
    const std::int64_t count = 1 + chance.below(most);
    const Range range{chance.below(all_samples - count + 1), count};
    const bool ends = story.twice || chance.one_in(2);
    if (!story.twice && chance.one_in(4)) {
      std::vector<float> values = plain->parameters();
      for (float& value : values) value *= 0.75f;
      plain->set_parameters(values);
      disturbed.player().set_parameters(values);
    }
    plain->give(range);
    disturbed.give(range);
    if (ends && !plain->again()) plain->flush(), disturbed.flush();
    if (plain->again()) plain->give(range), disturbed.give(range);
    EXPECT_EQ(plain->position(), disturbed.player().position());
    EXPECT_FALSE(plain->again() || disturbed.player().again());
    if (plain->position() == 0) {
      EXPECT_TRUE(equal(plain->state(), disturbed.player().state()));
    }
  };
  try {
    for (int i = 0; i < 12 && !testing::Test::HasFailure(); ++i) give_range();
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
  }
  EXPECT_FALSE(testing::Test::HasFailure()) << "story " << story.seed << ": " << disturbed.told();
  return {plain->step_count(), plain->dropped_windows()};
}

}  // namespace random_session
