// Reinforcement learning: a net learns to balance a pole by trial and error, with double Q-learning (van Hasselt et al. 2016).
// After each push it learns from 64 remembered pushes. Their targets use the worth of the state after each push as predicted
// by the average of its own parameters over the last steps, which an Ema keeps.
#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>
#include <vector>

#include "cart_pole.hpp"

using namespace cart_pole;

namespace {

/// The worth of each push in a state: the number of steps for which the pole then stays up, later ones counting less.
struct Worth {
  nn::Linear first, second, output;
  constexpr explicit Worth(Scope s)
      : first(s / "first", 4, 64, init::kaiming_uniform(4)), second(s / "second", 64, 64, init::kaiming_uniform(64)),
        output(s / "output", 64, 2) {}
  constexpr Var predict(Var state) const { return output(relu(second(relu(first(state))))); }
  constexpr Loss loss(Var state, Var action, Var target) const { return {huber(pick(predict(state), action), target)}; }
};
using Net = Compiled<Worth, Inputs<f32[4], i32, f32>>;
constexpr auto optimizer = Accumulate{ClipByGlobalNorm{Ema{Adam{.learning_rate = 5e-4}, 0.99}, 10.0}};
constexpr int batch = 64, remembered = 20'000, first_steps = 1'000, most_steps = 60'000, tried_every = 1'000;

/// The last `remembered` pushes.
struct Memory {
  struct Push {
    CartPole::State before, after;
    std::int32_t action;
    bool fell;
  };
  std::vector<Push> pushes;
  std::size_t next = 0;
  void add(const Push& push) {
    if (std::ssize(pushes) < remembered) pushes.push_back(push);
    else pushes[next++ % remembered] = push;
  }
};

std::int32_t best_push(Inference<Net>& worth, const CartPole::State& state) {
  std::array<float, 2> of;
  worth(state, of);
  return of[1] > of[0];
}

/// Returns the number of steps for which the pole stays up, averaged over ten tries.
double tried(Inference<Net>& worth) {
  CartPole cart(99);
  int steps = 0;
  for (int tries = 0; tries < 10; ++tries) {
    for (cart.reset(); !cart.has_ended();) cart.push(best_push(worth, cart.state()));
    steps += cart.steps();
  }
  return steps / 10.0;
}

}  // namespace

int main() try {
  Session session(Net{}, optimizer, {.global_batch = batch, .seed = 2});
  Inference<Net> now(session.parameters(), batch), slow(session.parameters(), batch);
  Memory memory;
  CartPole cart(7);
  std::mt19937 random(3);
  std::vector<float> before(batch * 4), after(batch * 4), choice(batch * 2), worth(batch * 2), target(batch);
  std::vector<std::int32_t> action(batch);
  std::printf("  steps  of them tried at random  loss    the pole stays up for\n");
  for (int step = 1; step <= most_steps; ++step) {
    const int at_random = std::max(2, 100 - step / 100);  // percent
    const bool tries = static_cast<int>(random() % 100) < at_random;
    const CartPole::State state = cart.state();
    const std::int32_t push = tries ? static_cast<std::int32_t>(random() % 2) : best_push(now, state);
    cart.push(push);
    memory.add({state, cart.state(), push, cart.has_fallen()});
    if (cart.has_ended()) cart.reset();
    if (step < first_steps) continue;

    std::vector<const Memory::Push*> chosen(batch);
    for (std::size_t i = 0; i < batch; ++i) {
      chosen[i] = &memory.pushes[random() % memory.pushes.size()];
      std::ranges::copy(chosen[i]->before, &before[4 * i]);
      std::ranges::copy(chosen[i]->after, &after[4 * i]);
      action[i] = chosen[i]->action;
    }
    now(after, choice);
    slow(after, worth);
    for (std::size_t i = 0; i < batch; ++i)
      target[i] = 1 + (chosen[i]->fell ? 0 : 0.99f * worth[2 * i + (choice[2 * i + 1] > choice[2 * i])]);
    session.accumulate(before, action, target);
    now.set_parameters(session.parameters());
    slow.set_parameters(session.averaged_parameters().values());
    if (step % tried_every != 0) continue;

    const double stays = tried(now);
    if (step % (5 * tried_every) == 0 || stays == CartPole::longest)
      std::printf("%7d  %22d%%  %.4f  %9.1f of %d steps\n", step, at_random, session.last_window().loss(), stays,
                  CartPole::longest);
    if (stays == CartPole::longest) return 0;
  }
  std::cerr << "the pole still falls\n";
  return 1;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
