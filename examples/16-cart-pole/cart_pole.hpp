#pragma once
#include <array>
#include <cstdint>
#include <random>

#include <gradual/gradual.hpp>

namespace cart_pole {

using namespace gradual;

/// A pole on a cart that is pushed to the left or to the right (Barto, Sutton and Anderson 1983; constants as in Gymnasium's
/// CartPole-v1). With the library's sine and cosine, every machine sees the same run.
class CartPole {
 public:
  using State = std::array<float, 4>;  ///< cart: position in m, speed in m/s; pole: angle in rad, speed in rad/s
  static constexpr int longest = 500;  ///< steps of an episode

  explicit CartPole(std::uint32_t seed) : random_(seed) { reset(); }

  const State& state() const { return state_; }
  int steps() const { return steps_; }
  bool has_fallen() const { return math::abs(state_[0]) > 2.4f || math::abs(state_[2]) > 0.2095f; }
  bool has_ended() const { return has_fallen() || steps_ == longest; }

  void reset() {
    for (float& value : state_) value = static_cast<float>(random_() % 1001) * 1e-4f - 0.05f;
    steps_ = 0;
  }
  /// Pushes the cart for 20 ms: to the left if `action` is 0, to the right if 1.
  void push(std::int32_t action) {
    constexpr float gravity = 9.8f, pole = 0.1f, mass = 1.1f, half_length = 0.5f, time = 0.02f;
    auto& [x, speed, angle, turning] = state_;
    const float sine = math::sin(angle), cosine = math::cos(angle);
    const float force = action == 1 ? 10.0f : -10.0f;
    const float push = (force + pole * half_length * turning * turning * sine) / mass;
    const float turn = (gravity * sine - cosine * push) / (half_length * (4.0f / 3 - pole * cosine * cosine / mass));
    const float acceleration = push - pole * half_length * turn * cosine / mass;
    x += time * speed, speed += time * acceleration;
    angle += time * turning, turning += time * turn;
    ++steps_;
  }

 private:
  State state_{};
  int steps_ = 0;
  std::mt19937 random_;
};

}  // namespace cart_pole
