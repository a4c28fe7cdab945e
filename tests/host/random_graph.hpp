#pragma once
// Random typed graphs of ops. A graph is a list of steps, each of which computes a value from earlier ones. A step chooses
// what it reads by its own key, so that leaving a step out changes only what depends on it, and the rest is a valid graph.
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <gradual/autodiff/ops.hpp>

#include "../random_numbers.hpp"

namespace random_graph {

using namespace gradual;

constexpr double unit_number(std::uint64_t key) { return static_cast<double>(mix(key) >> 11) * 0x1p-53; }

/// The source of a graph's inputs: a tape that only records, or one that runs.
class Source {
 public:
  virtual ~Source() = default;
  virtual Var samples(const Shape& sample) = 0;
  virtual Var labels() = 0;  ///< 0 or 1, one per sample
  virtual Var parameter(const Shape& shape) = 0;
};

struct RandomGraph {
  std::uint64_t seed = 0;
  std::int64_t batch = 3;
  std::vector<std::uint64_t> steps;  ///< a key for each, which determines the step and what it reads
};

constexpr bool broadcasts(const Shape& a, const Shape& b) {
  for (int i = 1; i <= a.rank && i <= b.rank; ++i) {
    const int ia = a.rank - i, ib = b.rank - i;
    const bool samples_a = ia == a.batch_axis, samples_b = ib == b.batch_axis;
    const bool one = (a.extent[ia] == 1 && !samples_a) || (b.extent[ib] == 1 && !samples_b);
    if (!one && (a.extent[ia] != b.extent[ib] || samples_a != samples_b)) return false;
  }
  const bool apart = a.batched() && b.batched() && a.rank - a.batch_axis != b.rank - b.batch_axis;
  return !apart && (a.rank > b.rank ? a : b).rank <= max_rank;
}

/// Records a graph, step by step, on the tape of its source.
class Recorder {
 public:
  struct Entry {
    std::string name;
    std::function<Var(Recorder&)> make;
  };
  struct Value {
    Var v;
    std::uint64_t key;
    bool used;
  };

  std::vector<Var> targets;     ///< to differentiate by: samples, then parameters
  std::vector<Var> parameters;  ///< the last of them
  std::vector<Value> values;    ///< that steps may read
  Var classes;
  std::vector<int> step_end;  ///< nodes on the tape after each step
  std::vector<char> fitted;   ///< by step; nothing reads a step that did not fit

  Recorder(const RandomGraph& graph, Source& source) {
    std::uint64_t key = graph.seed;
    const auto shape = [&](int ranks) {
      Shape s;
      key = mix(key);
      s.rank = static_cast<int>(key % static_cast<unsigned>(ranks));
      for (int i = 0; i < s.rank; ++i) s.extent[i] = 1 + static_cast<std::int64_t>(mix(key + static_cast<unsigned>(i)) % 3);
      return s;
    };
    for (int i = 0; i < 3; ++i) leaf(source.samples(i == 0 ? Shape{3} : shape(3)));
    for (int i = 0; i < 4; ++i) {
      leaf(source.parameter(i == 0 ? Shape{3, 2} : shape(4)));
      parameters.push_back(targets.back());
    }
    classes = source.labels();
  }

  void run(const RandomGraph& graph, const std::vector<Entry>& table) {
    for (const std::uint64_t step : graph.steps) {
      fitted.push_back(run(step, table));
      step_end.push_back(classes.tape->size());
    }
  }
  static const Entry& entry_of(std::uint64_t step, const std::vector<Entry>& table) {
    return table[mix(step) % table.size()];
  }

  /// Returns a value to read, preferring unused ones. Errors: ShapeError if none fits.
  template <class Fits>
  Var pick(Fits fits) {
    std::uint64_t lowest = ~std::uint64_t{0};
    std::size_t best = values.size();
    const std::uint64_t here = mix(key_ ^ ++numbers_);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::uint64_t score = mix(here ^ values[i].key) >> (values[i].used ? 1 : 3);
      if (score >= lowest || !fits(values[i].v.shape())) continue;
      lowest = score;
      best = i;
    }
    if (best == values.size()) throw ShapeError("no value fits");
    read_.push_back(best);
    return values[best].v;
  }
  Var any() {
    return pick([](const Shape&) { return true; });
  }
  Var with_axes() {
    return pick([](const Shape& s) { return s.rank > (s.batched() ? 1 : 0); });
  }
  int number(int below) { return static_cast<int>(mix(key_ ^ ++numbers_) % static_cast<unsigned>(below)); }
  /// Returns an axis other than the sample axis.
  int axis(const Shape& s) {
    const int i = number(s.rank - (s.batched() ? 1 : 0));
    return s.batched() && i >= s.batch_axis ? i + 1 : i;
  }

 private:
  void leaf(Var v) {
    targets.push_back(v);
    values.push_back({v, mix(targets.size()), false});
  }
  bool run(std::uint64_t step, const std::vector<Entry>& table) {
    key_ = step;
    numbers_ = 0;
    read_.clear();
    try {
      const Var v = entry_of(step, table).make(*this);
      if (v.shape().unit() > 24 || v.shape().rank > 4 || v.dtype() == DType::i32) return false;
      for (std::size_t i : read_) values[i].used = true;
      values.push_back({v, step, false});
      return true;
    } catch (const ShapeError&) {
      return false;
    }
  }
  std::uint64_t key_ = 0, numbers_ = 0;
  std::vector<std::size_t> read_;
};

using OpTable = std::vector<Recorder::Entry>;

/// Records an op of values whose shapes fit, mapped into its domain if that has no negative numbers.
template <class Op>
Var map_step(Recorder& r) {
  Var in[3];
  Shape shape;
  Message error;
  for (int k = 0; k < Op::arity; ++k) {
    in[k] = r.pick([&](const Shape& s) { return broadcasts(shape, s); });
    shape = broadcast_shape(shape, in[k].shape(), error);
  }
  if constexpr (requires { requires Op::domain.low > 0; })
    for (int k = 0; k < Op::arity; ++k) in[k] = Op::domain.low + (Op::domain.high - Op::domain.low) * sigmoid(in[k]);
  if constexpr (Op::arity == 1) return elementwise<Op>(in[0]);
  else if constexpr (Op::arity == 2) return elementwise<Op>(in[0], in[1]);
  else if constexpr (std::is_same_v<Op, Where>) return where(in[0] < 0.25, in[1], in[2]);
  else return elementwise<Op>(in[0], in[1], in[2]);
}

template <class... Op>
void add_map_ops(OpTable& table, OpList<Op...>) {
  const auto add = [&]<class O>(O) {
    // Differences would not respect a stopped gradient, which composite functions contain where it has no effect, nor numbers
    // that are no integers.
    if constexpr (!std::is_same_v<O, StopGradient> && !std::is_same_v<O, FromInteger>) table.push_back({O::name, map_step<O>});
  };
  (add(Op{}), ...);
}

inline void add_reductions(OpTable& table) {
  const auto reduction = [&](const char* name, Var (*f)(Var, Axes, bool)) {
    table.push_back({name, [f](Recorder& r) {
                       const Var x = r.with_axes();
                       const int first = r.axis(x.shape()), second = r.axis(x.shape());
                       const bool keep = r.number(2) == 1;
                       return first == second ? f(x, {first}, keep) : f(x, {first, second}, keep);
                     }});
  };
  reduction("sum", sum);
  reduction("prod", prod);
  reduction("mean", mean);
  reduction("max", max);
  reduction("min", min);
  const auto place = [&](const char* name, WithIndex (*f)(Var, int)) {
    table.push_back({name, [f](Recorder& r) {
                       const Var x = r.with_axes();
                       const WithIndex extremum = f(x, r.axis(x.shape()));
                       return where(extremum.index == 1.0, 0.5 * extremum.value, extremum.value);
                     }});
  };
  place("max with its index", max_with_index);
  place("min with its index", min_with_index);
  const auto of_rows = [&](const char* name, Var (*f)(Var)) {
    table.push_back({name, [f](Recorder& r) {
                       return f(r.pick([](const Shape& s) { return s.rank > 0 && s.rank - 1 != s.batch_axis; }));
                     }});
  };
  of_rows("softmax", softmax);
  of_rows("log_softmax", log_softmax);
  of_rows("logsumexp", logsumexp);
  table.push_back({"argmax", [](Recorder& r) {
                     const Var x = r.pick([](const Shape& s) { return s.rank > 1 && s.rank - 1 != s.batch_axis; });
                     return where(argmax(x) == 1.0, sum(x, {-1}), max(x, {-1}));
                   }});
}

inline void add_structure(OpTable& table) {
  table.push_back({"reshape", [](Recorder& r) {
                     const Var x = r.any();
                     const Shape from = x.shape();
                     const std::int64_t unit = from.unit();
                     const Shape shapes[] = {{unit}, {unit, 1}, {1, unit}, {2, unit / 2}, {unit / 3, 3}};
                     const Shape& to = shapes[r.number(5)];
                     return reshape(x, from.batched() ? Shape::per_sample(to) : to);
                   }});
  table.push_back({"transpose", [](Recorder& r) {
                     const Var x = r.pick([](const Shape& s) { return s.rank > 1; });
                     int order[max_rank] = {0, 1, 2, 3, 4, 5};
                     for (int i = x.shape().rank - 1; i > 0; --i) std::swap(order[i], order[r.number(i + 1)]);
                     return gradual::detail::transpose(x, order);
                   }});
  table.push_back({"broadcast", [](Recorder& r) {
                     const Var x = r.pick([](const Shape& s) { return s.rank < 4; });
                     Shape to = x.shape();
                     for (int i = 0; i < to.rank; ++i)
                       if (to.extent[i] == 1 && i != to.batch_axis) to.extent[i] = 3;
                     if (to.batched()) return broadcast(x, to);
                     Shape stack{2};
                     for (int i = 0; i < to.rank; ++i) stack.extent[stack.rank++] = to.extent[i];
                     return broadcast(x, stack);
                   }});
  table.push_back({"slice", [](Recorder& r) {
                     const Var x = r.with_axes();
                     const int axis = r.axis(x.shape()), extent = static_cast<int>(x.shape().extent[axis]);
                     const int first = r.number(extent);
                     return slice(x, axis, first, 1 + r.number(extent - first));
                   }});
  table.push_back({"pad", [](Recorder& r) {
                     const Var x = r.with_axes();
                     const int axis = r.axis(x.shape());
                     const int before = r.number(2);
                     return pad(x, axis, before, 1 + r.number(2), 0.5 * before);
                   }});
  table.push_back({"concat", [](Recorder& r) {
                     const Var x = r.with_axes();
                     const int axis = r.axis(x.shape());
                     const auto fits = [&](Shape s) {
                       if (axis < s.rank) s.extent[axis] = x.shape().extent[axis];
                       return s == x.shape();
                     };
                     return concat({x, r.pick(fits)}, axis);
                   }});
  for (int flags = 0; flags < 4; ++flags)
    table.push_back({"matmul", [ta = flags % 2 == 1, tb = flags / 2 == 1](Recorder& r) {
                       const Var a = r.pick([](const Shape& s) { return s.rank > 1; });
                       const Shape left = a.shape();
                       const int k = left.rank - (ta ? 2 : 1);
                       const auto fits = [&](const Shape& s) {
                         const int l = s.rank - (tb ? 1 : 2);
                         return s.rank > 1 && k != left.batch_axis && l != s.batch_axis && s.extent[l] == left.extent[k];
                       };
                       return matmul(a, r.pick(fits), ta, tb);
                     }});
}

/// Adds ops of images and tables: only the shape of a value matters, so any value can be an image.
inline void add_images_and_tables(OpTable& table) {
  const auto image = [](Recorder& r) {
    const Var x = r.pick([](const Shape& s) { return s.batch_axis == 0 && s.unit() > 1; });
    const std::int64_t channels = 1 + r.number(2), rows = 1 + r.number(2);
    return reshape(x, Shape::per_sample({channels, rows, x.shape().unit() / (channels * rows)}));
  };
  table.push_back({Conv2d::name, [image](Recorder& r) {
                     const Var x = image(r), w = r.pick([](const Shape& s) { return !s.batched() && s.rank > 0; });
                     const std::int64_t outputs = 1 + r.number(2), channels = x.shape().extent[1];
                     const Shape kernel{outputs, channels, 1, w.shape().unit() / (outputs * channels)};
                     const std::int64_t stride = 1 + r.number(2);
                     return conv2d(x, reshape(w, kernel), {.stride = stride});
                   }});
  table.push_back({"conv2d of a smaller image", [image](Recorder& r) {
                     const Var x = image(r), w = r.pick([](const Shape& s) { return !s.batched() && s.rank > 0; });
                     const Shape kernel{1, x.shape().extent[1], w.shape().unit() / (2 * x.shape().extent[1]), 2};
                     return conv2d(x, reshape(w, kernel), {.stride = 2, .padding = 1});
                   }});
  table.push_back({MaxPool2d::name, [image](Recorder& r) {
                     const Var x = image(r);
                     const std::int64_t stride = 1 + r.number(2);
                     return max_pool2d(x, 2, {.stride = stride, .padding = r.number(2)});
                   }});
  table.push_back({Gather::name, [](Recorder& r) {
                     return gather(
                         r.pick([](const Shape& s) { return s.rank == 2 && !s.batched() && s.extent[0] > 1; }),
                         r.classes);
                   }});
  table.push_back({GatherOwn::name, [](Recorder& r) {
                     const Var x = r.pick([](const Shape& s) {
                       return s.batch_axis == 0 && s.extent[0] == 1 && s.rank > 1 && s.unit() % 2 == 0;
                     });
                     return gather(reshape(x, Shape::per_sample({2, x.shape().unit() / 2})), r.classes);
                   }});
  table.push_back({ScatterAdd::name, [](Recorder& r) {
                     const Var x = r.pick([](const Shape& s) { return s.batch_axis == 0 && s.extent[0] == 1 && s.rank == 2; });
                     return scatter_add(x, r.classes, 3);
                   }});
}

inline void add_composites(OpTable& table) {
  const auto samples_first = [](const Shape& s) { return s.batch_axis == 0; };
  const auto samples_first_or_none = [](const Shape& s) { return s.batch_axis <= 0; };
  table.push_back({"affine", [](Recorder& r) { return 0.7 * r.any() - 0.3; }});
  table.push_back({"leaky_relu of a number", [](Recorder& r) { return leaky_relu(r.any(), 0.1); }});
  table.push_back({"elu of a number", [](Recorder& r) { return elu(r.any(), 0.7); }});
  table.push_back({"clamp between numbers", [](Recorder& r) { return clamp(r.any(), -0.8, 0.9); }});
  table.push_back({"log_sigmoid", [](Recorder& r) { return log_sigmoid(r.any()); }});
  table.push_back({"dropout", [=](Recorder& r) { return dropout(r.pick(samples_first_or_none), 0.25); }});
  table.push_back({"normal noise", [=](Recorder& r) { return normal_like(r.pick(samples_first_or_none)); }});
  table.push_back({"uniform noise", [=](Recorder& r) { return uniform_like(r.pick(samples_first_or_none)); }});
  table.push_back({"choice by place", [](Recorder& r) {
                     const Var x = r.with_axes();
                     return where(iota(x, r.axis(x.shape())) <= iota(x, r.axis(x.shape())), x, 0.5 * x);
                   }});
  const auto loss = [&](const char* name, Var (*f)(Var, Var)) {
    table.push_back({name, [=](Recorder& r) {
                       const Var x = r.pick(samples_first);
                       return f(x, r.pick([&](const Shape& s) { return s == x.shape(); }));
                     }});
  };
  loss("mse", mse);
  loss("mae", mae);
  loss("bce_with_logits", [](Var x, Var y) { return bce_with_logits(x, y); });
  loss("huber", [](Var x, Var y) { return huber(x, y, 0.7); });
  table.push_back({"cross_entropy", [](Recorder& r) {
                     const auto scores = [](const Shape& s) { return s.batch_axis == 0 && s.rank == 2 && s.extent[1] > 1; };
                     return cross_entropy(r.pick(scores), r.classes);
                   }});
}

/// Returns everything that a step can be: each op of the op list, and functions made of several ops.
inline OpTable every_step() {
  OpTable table;
  add_map_ops(table, MapOps{});
  add_reductions(table);
  add_structure(table);
  add_images_and_tables(table);
  add_composites(table);
  return table;
}

/// Returns a graph of `steps` steps, not all of which need to fit.
inline RandomGraph draw_graph(std::uint64_t seed, int steps) {
  RandomGraph graph{seed, 2 + static_cast<std::int64_t>(mix(seed) % 2), {}};
  for (int i = 0; i < steps; ++i) graph.steps.push_back(mix(mix(seed) + static_cast<unsigned>(i)));
  return graph;
}

}  // namespace random_graph
