// Any changes to the notes and tensors of a state, from which a session or a trainer then resumes: it learns, or throws a typed
// error; a refused state changes nothing. The first byte chooses the session, each line is a change: "name=note", "name#k" for
// a tensor of k zeros, "name" for one to be left out.
#include <gradual/gradual.hpp>

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>

#include "check.hpp"
#include "same.hpp"

using namespace gradual;

namespace {

struct Model {
  nn::Linear layer;
  constexpr explicit Model(Scope s) : layer(s / "layer", 2, 3) {}
  constexpr Loss loss(Var x, Var label) const {
    const Var scores = layer(tanh(x));
    return {cross_entropy(scores, label), metric("accuracy", argmax(scores) == label)};
  }
};
using Net = Compiled<Model, Inputs<f32[3][2], i32[3]>>;
using Data = Dataset<float, std::int32_t>;

constexpr std::int64_t samples = 90, window = 50;

const std::vector<float> x = [] {
  std::vector<float> values(samples * 6);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7) - 3;
  return values;
}();
const std::vector<std::int32_t> y = [] {
  std::vector<std::int32_t> labels(samples * 3);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int32_t>(i % 3);
  return labels;
}();

Checkpoint changed(Checkpoint state, std::string_view lines) {
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    const std::size_t end = std::min(line.find_first_of("=#"), line.size());
    const std::string name(line.substr(0, end)), text(line.substr(std::min(end + 1, line.size())));
    if (end == line.size()) {
      state.notes.erase(name), state.tensors.erase(name);
    } else if (line[end] == '=') {
      state.notes[name] = text;
      std::ranges::replace(state.notes[name], '\\', '\n');
    } else {
      const std::size_t size = text.size() < 4 ? static_cast<std::size_t>(std::atoi(text.c_str())) % 100 : 0;
      state.tensors[name] = {{static_cast<std::int64_t>(size)}, std::vector<float>(size)};
    }
  }
  return state;
}

/// `make()` returns a session of this kind; `learn(session, first, count)` trains it.
template <int kind, class Make, class Learn>
void go_on(std::string_view lines, Make make, Learn learn) {
  static const Checkpoint whole = [&] {
    auto session = make();
    learn(*session, 0, window);
    learn(*session, 0, 33);
    return session->state();
  }();
  const Checkpoint state = changed(whole, lines);
  const auto session = make();
  const Checkpoint before = session->state();
  if (fuzz::refuses([&] { session->restore(state); })) {
    fuzz::check(fuzz::same(before, session->state()), "what is refused changes nothing");
    return;
  }
  Checkpoint restored;
  if (fuzz::refuses([&] { restored = session->state(); })) return;
  const auto other = make();
  fuzz::check(!fuzz::refuses([&] { other->restore(restored); }), "a state that was restored is restored again");
  fuzz::check(fuzz::same(restored, other->state()), "a state that was restored is the same again");
  for (const std::size_t first : {33, 0})
    fuzz::refuses([&] { learn(*session, first, 17); });
  fuzz::refuses([&] { session->flush(); });
  fuzz::refuses([&] { session->state(); });
}

template <int kind, class Optimizer>
void compiled(std::string_view lines, const Optimizer& optimizer, const SessionOptions& options) {
  const auto make = [&] { return std::make_unique<Session<Net, Optimizer>>(Net{}, optimizer, options); };
  go_on<kind>(lines, make, [](auto& session, std::size_t first, std::size_t count) {
    session.accumulate(std::span(x).subspan(first * 6, count * 6), std::span(y).subspan(first * 3, count * 3));
  });
}

struct Eager {
  Parameters parameters{Device::cpu()};
  Model net{parameters.root()};
  Session<Parameters, Accumulate<Adam>, Inputs<>> session;
  explicit Eager(const SessionOptions& options, std::int64_t calls)
      : session(parameters, Accumulate{Adam{}, static_cast<int>(calls)}, options) {}
  Checkpoint state() const { return session.state(); }
  void restore(const Checkpoint& file) { session.restore(file); }
  int flush() { return session.flush(); }
};

template <int kind>
void eagerly(std::string_view lines, const SessionOptions& options, std::int64_t calls) {
  go_on<kind>(lines, [&] { return std::make_unique<Eager>(options, calls); },
        [](Eager& eager, std::size_t first, std::size_t count) {
    eager.session.accumulate(static_cast<std::int64_t>(count), [&](EagerTape& tape) {
      return eager.net.loss(tape.input(std::span(x).subspan(first * 6, count * 6), {3, 2}),
                            tape.input(std::span(y).subspan(first * 3, count * 3), {3}));
    });
  });
}

template <class Optimizer>
void trainer(std::string_view lines, const Optimizer& optimizer) {
  using T = Trainer<Net, Optimizer>;
  static const std::string path = "fuzz_state_" + std::to_string(::getpid());
  static const Data data = Data::of(samples, x, y);
  const TrainerOptions options{.global_batch = window, .micro_batch = 16};
  static const Checkpoint whole = [&] {
    T trained(Net{}, optimizer, options);
    int parts = 0;
    FitOptions<Data> fit{.epochs = 2, .validate = data, .patience = 3};
    fit.on_micro_batch = [&](std::int64_t) {
      if (++parts == 9) trained.stop();
    };
    trained.fit(data, fit);
    trained.save_state(path);
    return load(path);
  }();
  const Checkpoint state = changed(whole, lines);
  T resumed(Net{}, optimizer, options);
  if (fuzz::refuses([&] { save(path, state); })) return;
  const Checkpoint before = resumed.session().state();
  const bool refused = fuzz::refuses([&] { resumed.load_state(path); });
  ::unlink(path.c_str());
  if (refused) {
    fuzz::check(fuzz::same(before, resumed.session().state()) && resumed.epoch() == 0, "what is refused changes nothing");
    return;
  }
  fuzz::refuses([&] { resumed.fit(data, {.epochs = 2, .validate = data, .patience = 3}); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view lines(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 8) {
    case 0: compiled<0>(lines, Accumulate{Adam{}}, {.global_batch = window, .micro_batch = 16}); break;
    case 1: compiled<1>(lines, Accumulate{Adam{}, 3}, {.micro_batch = 16}); break;
    case 2: compiled<2>(lines, Accumulate{Sam{Sgd{}, 0.1}}, {.global_batch = window, .micro_batch = 16}); break;
    case 3: compiled<3>(lines, Accumulate{LossScale{Sgd{}}}, {.global_batch = window, .micro_batch = 16}); break;
    case 4: eagerly<4>(lines, {.global_batch = window, .micro_batch = 16}, 0); break;
    case 5: eagerly<5>(lines, {.global_batch = 16, .micro_batch = 16}, 3); break;
    case 6: trainer(lines, Accumulate{Adam{}}); break;
    case 7: trainer(lines, Accumulate{Sam{Sgd{}, 0.1}}); break;
  }
  return 0;
}
