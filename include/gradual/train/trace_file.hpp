#pragma once
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <string>
#include <utility>
#include <vector>

#include <gradual/core/math/all_finite.hpp>
#include <gradual/core/process_usage.hpp>
#include <gradual/train/atomic_file.hpp>
#include <gradual/train/trainer.hpp>

namespace gradual {

/// When what happened in training, with the bytes of the session and those of the whole process beside it, as a file
/// for https://ui.perfetto.dev or chrome://tracing. Changes nothing in what is trained.
///   TraceFile trace;
///   trainer.fit(data, trace.following(trainer, {.epochs = 3}));
///   trace.save("run.json");
class TraceFile {
 public:
  /// `most`: events that are kept; those after them are only counted, in the file's "otherData". About 100 bytes each.
  explicit TraceFile(std::size_t most = 200'000) : most_(most) { sample({}); }

  /// The options of a fit which also record it; what they call already is called as well. Trainer and trace must
  /// outlive the fit. Of a trainer that has no plan the file holds no bytes of its session.
  template <class Net, class Optimizer>
  auto following(const Trainer<Net, Optimizer>& trainer, typename Trainer<Net, Optimizer>::Options options) {
    resume();
    options.on_micro_batch = [this, &trainer, then = std::move(options.on_micro_batch)](std::int64_t samples) {
      if constexpr (requires { trainer.memory(); }) micro_batch(samples, trainer.memory());
      else micro_batch(samples, {});
      if (then) then(samples);
    };
    options.on_step = [this, then = std::move(options.on_step)](std::int64_t number, const Averages& window) {
      step(number, window);
      if (then) then(number, window);
    };
    options.on_epoch = [this, then = std::move(options.on_epoch)](const auto& record) {
      slice("after the epoch", now_, {"epoch", static_cast<double>(record.epoch)});
      step_begin_ = now_;
      if (then) then(record);
    };
    return options;
  }

  // For a loop of one's own: each call ends what began where the one before it ended.

  /// Training begins, or goes on after something that is not to be seen.
  void resume() { now_ = step_begin_ = watch_.seconds(); }
  /// A micro-batch has ended; the last of a window includes its update. `memory`: of its session.
  void micro_batch(std::int64_t samples, const MemoryTable& memory) {
    slice("micro-batch", now_, {"samples", static_cast<double>(samples)});
    sample(memory);
  }
  /// A step, the number `number` since the session was made, has ended with its last micro-batch.
  void step(std::int64_t number, const Averages& window) {
    if (room())
      events_.push_back({"step",
                         step_begin_,
                         now_ - step_begin_,
                         {{"step", static_cast<double>(number)},
                          {"loss", window.loss()},
                          {"samples", static_cast<double>(window.count())}}});
    step_begin_ = now_;
  }

  /// Errors: FileError where it cannot be written.
  [[gnu::cold]] void save(const std::string& path) const {
    rapidjson::StringBuffer text;
    Writer json(text);
    json.StartObject();
    json.Key("displayTimeUnit"), json.String("ms");
    json.Key("otherData"), json.StartObject();
    json.Key("events left out"), json.Uint64(left_out_);
    json.EndObject();
    json.Key("traceEvents"), json.StartArray();
    for (const Event& event : events_) write(json, event);
    json.EndArray();
    json.EndObject();
    write_atomically(path, std::as_bytes(std::span(text.GetString(), text.GetSize())));
  }

 private:
  using Writer = rapidjson::Writer<rapidjson::StringBuffer>;
  struct Number {
    const char* name = nullptr;
    double value = 0;
  };
  /// Something that took time, or, where `duration` is negative, counters at a time. In seconds.
  struct Event {
    const char* name;
    double begin, duration;
    Number numbers[3];
  };

  bool room() {
    const bool free = events_.size() < most_;
    left_out_ += free ? 0 : 1;
    return free;
  }
  void slice(const char* name, double begin, Number number) {
    now_ = watch_.seconds();
    if (room()) events_.push_back({name, begin, now_ - begin, {number}});
  }

  /// Counters, where the session's have changed, and the system's after a millisecond.
  void sample(const MemoryTable& memory) {
    constexpr double pause = 1e-3;
    if (memory.total() != bytes_ && room()) {
      bytes_ = memory.total();
      events_.push_back({"session bytes",
                         now_,
                         -1,
                         {{"persistent", static_cast<double>(memory.persistent())},
                          {"transient", static_cast<double>(memory.transient())}}});
    }
    if (sampled_ >= 0 && now_ - sampled_ < pause) return;
    const ProcessUsage usage = process_usage();
    if (room())
      events_.push_back(
          {"resident bytes of the process", now_, -1, {{"resident", static_cast<double>(usage.resident)}}});
    if (sampled_ >= 0 && room())
      events_.push_back(
          {"cores busy", now_, -1, {{"cores", (usage.cpu_seconds - usage_.cpu_seconds) / (now_ - sampled_)}}});
    usage_ = usage;
    sampled_ = now_;
  }

  [[gnu::cold]] static void write(Writer& json, const Event& event) {
    const bool counters = event.duration < 0;
    json.StartObject();
    json.Key("name"), json.String(event.name);
    json.Key("ph"), json.String(counters ? "C" : "X");
    json.Key("pid"), json.Int(1);
    json.Key("tid"), json.Int(1);
    json.SetMaxDecimalPlaces(3);
    json.Key("ts"), json.Double(1e6 * event.begin);  // microseconds
    if (!counters) json.Key("dur"), json.Double(1e6 * event.duration);
    json.SetMaxDecimalPlaces(Writer::kDefaultMaxDecimalPlaces);
    json.Key("args"), json.StartObject();
    for (const Number& number : event.numbers) {
      if (number.name == nullptr) continue;
      json.Key(number.name);
      if (math::is_finite(number.value))
        json.Double(number.value);
      else
        json.Null();  // JSON has no other word for it
    }
    json.EndObject();
    json.EndObject();
  }

  std::size_t most_;
  std::uint64_t left_out_ = 0;
  std::vector<Event> events_;
  Stopwatch watch_;
  double now_ = 0, step_begin_ = 0, sampled_ = -1;
  std::int64_t bytes_ = 0;
  ProcessUsage usage_;
};

}  // namespace gradual
