// Functions that call the library have loops of their own, which must not be compiled as cold code: g++ takes a function
// that always calls a cold one for cold.
#include <iostream>

#include <gradual/gradual.hpp>

namespace {

using namespace gradual;

struct Line {
  nn::Linear output;
  constexpr explicit Line(Scope s) : output(s / "output", 1, 1) {}
  constexpr Var predict(Var x) const { return output(x); }
  constexpr Loss loss(Var x, Var y) const { return {mse(predict(x), y)}; }
};
using Net = Compiled<Line, Inputs<f32[1], f32[1]>>;

}  // namespace

#define LOOP(name) \
  for (float& value : values) asm volatile("# loop " name : "+m"(value))  // found in the compiler's output

void of_an_inference(std::vector<float>& values) {
  Inference<Net> net(load("net.safetensors"), 64);
  net(values, values);
  LOOP("of_an_inference");
}
void of_a_session(std::vector<float>& values) {
  Session session(Net{}, Accumulate{Adam{}}, {.global_batch = 64});
  session.accumulate(values, values);
  session.flush();
  session.set_budget(1_MiB);
  session.set_parameters(values);
  session.discard();
  save_parameters("net.safetensors", session.parameters());
  save("state.safetensors", session.state());
  LOOP("of_a_session");
}
void of_a_trainer(std::vector<float>& values) {
  const Table table = read_csv("data.csv");
  Trainer trainer(Net{}, Accumulate{Adam{}}, {.global_batch = 64});
  trainer.load_state("state.safetensors");
  trainer.fit(Dataset(values, values), {.epochs = 10, .validate = Dataset(values, values)});
  trainer.save("net.safetensors");
  trainer.save_state("state.safetensors");
  std::cout << Net::inference_memory(64) << trainer.evaluate(Dataset(values, values)).loss() << table.rows;
  LOOP("of_a_trainer");
}
void of_an_eager_session(std::vector<float>& values) {
  Parameters parameters(Device::cpu());
  const Line net(parameters.root());
  Session session(parameters, Accumulate{Adam{}}, {.global_batch = 64});
  session.accumulate(64, [&](EagerTape& tape) {
    LOOP("of_a_recording");
    const Var x = tape.input(std::span<const float>(values), {1});
    const Var y = tape.input(std::span<const float>(values), {1});
    return net.loss(x, y);
  });
  LOOP("of_an_eager_session");
}
