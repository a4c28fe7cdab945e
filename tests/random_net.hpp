#pragma once
// Random nets that a compiler can trace: the seed is a template argument and determines everything else. A net reads an
// image, tokens and a label; each step computes a value from earlier ones that fit, preferring those that nothing has
// read yet.
#include <gradual/gradual.hpp>

#include "random_numbers.hpp"

namespace random_net {

using namespace gradual;

inline constexpr int max_values = 32, max_parameters = 32, tokens = 4, words = 9, classes = 5;
using NetInputs = Inputs<f32[2][6][5], i32[tokens], i32>;

/// The source of a net's parameters: declares them when a model is constructed, and reads them when it is traced.
struct ParameterSource {
  const Scope* declaring = nullptr;
  Tape* tape = nullptr;
  Parameter* parameters = nullptr;
  int count = 0;

  constexpr Var make(const Shape& shape) {
    if (declaring == nullptr) return parameters[count++].on(Var(tape, 0));
    Message name;
    name << "parameter" << count;
    parameters[count++] = declaring->parameter(name.view(), shape, init::uniform(0.6));
    return input(*tape, shape, DType::f32);
  }
};

/// Records a net, step by step.
class Steps {
 public:
  constexpr Steps(std::uint64_t seed, ParameterSource source) : key_(mix(seed)), source_(source) {}

  constexpr Loss loss(Var image, Var words_read, Var label, int steps) {
    add(image);
    add(gather(source_.make({words, 1 + number(7)}), words_read));
    for (int i = 0; i < steps; ++i) step();
    Loss result = per_sample(label);
    if (number(2) == 0) result = result.weighted_by(sigmoid(result.value));
    if (penalised_.valid() && number(2) == 0) result = result.plus(0.01 * sum(penalised_ * penalised_, {0, 1}));
    return result;
  }

 private:
  constexpr int number(int below) {
    key_ = mix(key_);
    return static_cast<int>(key_ % static_cast<unsigned>(below));
  }
  constexpr void add(Var v) {
    if (v.valid() && v.shape().unit() <= 200 && count_ < max_values) values_[count_++] = v;
  }
  template <class Fits>
  constexpr Var value(Fits fits) {
    int best = -1;
    std::uint64_t lowest = ~std::uint64_t{0};
    key_ = mix(key_);
    for (int i = 0; i < count_; ++i) {
      const std::uint64_t score = mix(key_ ^ static_cast<unsigned>(i)) >> (used_[i] ? 1 : 3);
      if (score >= lowest || !fits(values_[i].shape())) continue;
      lowest = score;
      best = i;
    }
    if (best < 0) return {};
    used_[best] = true;
    return values_[best];
  }
  /// Combines all values that nothing has read: cross entropy of class scores, and mean squares.
  constexpr Var per_sample(Var label) {
    Var result;
    if (number(3) == 0) result = cross_entropy(linear(flatten(any()), classes), label);
    for (int i = 0; i < count_; ++i) {
      if (used_[i]) continue;
      const Var part = mean_per_sample(values_[i] * values_[i]);
      result = result.valid() ? result + part : part;
    }
    return result;
  }

  constexpr Var any() {
    return value([](const Shape&) { return true; });
  }
  constexpr Var of_rank(int least, int most) {
    return value([=](const Shape& s) { return s.rank >= least && s.rank <= most; });
  }
  constexpr Var like(Var x) {
    return value([&](const Shape& s) { return s == x.shape(); });
  }
  static constexpr std::int64_t last(Var x) { return x.shape().extent[x.shape().rank - 1]; }

  constexpr Var linear(Var x, std::int64_t out) {
    const Var product = matmul(x, source_.make({last(x), out}));
    return product + source_.make({out});
  }

  constexpr void step() {
    const int kind = number(23);
    if (kind == 0 || kind == 1) {
      const Var x = of_rank(2, 3);
      return add(linear(x, 1 + number(19)));
    }
    if (kind == 2) return add(relu(any()));
    if (kind == 3) return add(tanh(any()));
    if (kind == 4) {
      const Var x = any();
      return add(x * sigmoid(x));
    }
    if (kind == 5) return add(exp(log_softmax(any())));
    if (kind == 6) {
      const Var x = any();
      return add(x - mean(x, {-1}, true));
    }
    if (kind == 7) {
      const Var x = any();
      return add(x * max(x, {-1}, true));
    }
    if (kind == 8) {
      const Var x = any();
      return add(x + 0.5 * like(x));
    }
    if (kind == 9) {
      const Var x = any(), y = like(x);
      return add(where(x < y, y, 0.3 * x));
    }
    if (kind == 10) return add(dropout(any(), 0.3));
    if (kind == 11) {  // a computed weight, also read transposed
      const Var x = of_rank(2, 3), w = tanh(source_.make({last(x), 1 + number(9)}));
      penalised_ = w;
      return add(matmul(tanh(matmul(x, w)), w, false, true));
    }
    if (kind == 12) {  // a weight with dropout and columns normalised to length 1
      const Var x = of_rank(2, 3), w = dropout(source_.make({last(x), 1 + number(9)}), 0.2);
      return add(matmul(x, w / sqrt(sum(w * w, {0}, true) + 0.1)));
    }
    if (kind == 13) {
      const Var x = of_rank(3, 4);
      return add(x.shape().rank == 3 ? transpose(x, {0, 2, 1}) : transpose(x, {0, 2, 3, 1}));
    }
    if (kind == 14) {
      const Var x = of_rank(3, 4);
      const Shape s = x.shape();
      if (number(2) == 0 || s.rank == 3) return add(flatten(x));
      return add(reshape(x, Shape::per_sample({s.extent[1], s.extent[2] * s.extent[3]})));
    }
    if (kind == 15) {
      const Var x = of_rank(3, 3);
      return x.valid() ? add(matmul(softmax(matmul(x, x, false, true)), x)) : void();
    }
    if (kind == 16 || kind == 17) {
      const Var x = value([](const Shape& s) { return s.rank == 4 && s.extent[2] > 1 && s.extent[3] > 1; });
      if (!x.valid()) return;
      const int size = 1 + number(2), stride = 1 + number(2), padding = number(size);
      const std::int64_t outputs = 1 + number(5);
      const auto smaller = static_cast<int>(std::min(x.shape().extent[2], x.shape().extent[3]));
      const Var y = conv2d(x, source_.make({outputs, x.shape().extent[1], size, size}),
                           {.stride = stride, .padding = padding, .dilation = 1 + number(smaller - 1)});
      return add(y + source_.make({outputs, 1, 1}));
    }
    if (kind == 18) {
      const Var x = value([](const Shape& s) { return s.rank == 4 && s.extent[2] > 1 && s.extent[3] > 1; });
      return x.valid() ? add(max_pool2d(x, 2, {.stride = 1 + number(2), .padding = number(2)})) : void();
    }
    if (kind == 19 || kind == 20) {
      const Var x = any();
      if (!x.valid() || x.shape().rank < 2) return;
      const int axis = 1 + number(x.shape().rank - 1), extent = static_cast<int>(x.shape().extent[axis]);
      const int first = number(kind == 19 ? 3 : extent), rest = number(kind == 19 ? 2 : extent - first);
      return add(kind == 19 ? pad(x, axis, first, 1 + rest, 0.5 * first) : slice(x, axis, first, 1 + rest));
    }
    if (kind == 21) {
      const Var x = of_rank(2, 3);
      const int axis = 1 + number(x.shape().rank - 1);
      const Var y = value([&](Shape s) {
        if (axis < s.rank) s.extent[axis] = x.shape().extent[axis];
        return s == x.shape();
      });
      return add(concat({x, y, tanh(x)}, axis));
    }
    const Var x = of_rank(3, 3);  // a scale for each row
    if (x.valid()) add(x * source_.make({x.shape().extent[1], 1}));
  }

  std::uint64_t key_;
  ParameterSource source_;
  Var values_[max_values]{}, penalised_;
  bool used_[max_values]{};
  int count_ = 0;
};

template <std::uint64_t Seed, int StepCount>
class RandomNet {
 public:
  constexpr explicit RandomNet(Scope scope) {
    Tape tape;
    const Var image = gradual::detail::sample_input<f32[2][6][5]>(tape),
              read = gradual::detail::sample_input<i32[tokens]>(tape), label = gradual::detail::sample_input<i32>(tape);
    Steps steps(Seed, {&scope, &tape, parameters_, 0});
    steps.loss(image, read, label, StepCount);
  }
  constexpr Loss loss(Var image, Var read, Var label) const {
    Parameter parameters[max_parameters];
    for (int p = 0; p < max_parameters; ++p) parameters[p] = parameters_[p];
    Steps steps(Seed, {nullptr, image.tape, parameters, 0});
    return steps.loss(image, read, label, StepCount);
  }

 private:
  Parameter parameters_[max_parameters];
};

}  // namespace random_net
