#pragma once
#include <gradual/train/trace_file.hpp>

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <gradual/core/math/all_finite.hpp>
#include <gradual/core/out_of_memory.hpp>
#include <gradual/files/atomic_file.hpp>

namespace gradual::detail {

inline void write(rapidjson::Writer<rapidjson::StringBuffer>& json, const TraceEvent& event) {
  const bool counters = event.duration < 0;
  json.StartObject();
  json.Key("name"), json.String(event.name);
  json.Key("ph"), json.String(counters ? "C" : "X");
  json.Key("pid"), json.Int(1);
  json.Key("tid"), json.Int(1);
  json.SetMaxDecimalPlaces(3);
  json.Key("ts"), json.Double(1e6 * event.begin);  // microseconds
  if (!counters) json.Key("dur"), json.Double(1e6 * event.duration);
  json.SetMaxDecimalPlaces(json.kDefaultMaxDecimalPlaces);
  json.Key("args"), json.StartObject();
  for (const TraceNumber& number : event.numbers) {
    if (number.name == nullptr) continue;
    json.Key(number.name);
    if (math::is_finite(number.value))
      json.Double(number.value);
    else
      json.Null();  // JSON has no infinity or NaN
  }
  json.EndObject();
  json.EndObject();
}

}  // namespace gradual::detail

namespace gradual {

GRADUAL_ONCE void TraceFile::micro_batch(std::int64_t samples, const MemoryTable& memory) {
  slice("micro-batch", now_, {"samples", static_cast<double>(samples)});
  sample(memory);
}

GRADUAL_ONCE void TraceFile::step(std::int64_t number, const Averages& window) {
  if (room())
    events_.push_back({"step",
                       step_begin_,
                       now_ - step_begin_,
                       {{"step", static_cast<double>(number)},
                        {"loss", window.loss()},
                        {"samples", static_cast<double>(window.count())}}});
  step_begin_ = now_;
}

GRADUAL_ONCE void TraceFile::save(const std::string& path) const {
  or_memory_error("saving a trace", [&] {
    rapidjson::StringBuffer text;
    rapidjson::Writer<rapidjson::StringBuffer> json(text);
    json.StartObject();
    json.Key("displayTimeUnit"), json.String("ms");
    json.Key("otherData"), json.StartObject();
    json.Key("events left out"), json.Uint64(left_out_);
    json.EndObject();
    json.Key("traceEvents"), json.StartArray();
    for (const detail::TraceEvent& event : events_) detail::write(json, event);
    json.EndArray();
    json.EndObject();
    write_atomically(path, std::as_bytes(std::span(text.GetString(), text.GetSize())));
  });
}

GRADUAL_ONCE bool TraceFile::room() {
  const bool free = events_.size() < most_;
  left_out_ += free ? 0 : 1;
  return free;
}

GRADUAL_ONCE void TraceFile::slice(const char* name, double begin, detail::TraceNumber number) {
  now_ = watch_.seconds();
  if (room()) events_.push_back({name, begin, now_ - begin, {number}});
}

GRADUAL_ONCE void TraceFile::sample(const MemoryTable& memory) {
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

}  // namespace gradual
