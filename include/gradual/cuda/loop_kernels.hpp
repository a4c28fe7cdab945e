#pragma once
#include <gradual/autodiff/loop_body.hpp>
#include <gradual/cuda/step.hpp>

namespace gradual::cuda {

/// Where the values of a loop are; a kernel argument. Loops with the same number of slots share it, and the code that launches
/// them.
template <int Slots>
struct LoopMemory {
  const void* read[Slots];
  void* written[Slots];
  void* chain[Slots];  ///< unfinished blocks of reductions over the batch

  template <class E>
  GRADUAL_HD GRADUAL_INLINE const E* in(int s) const {
    return static_cast<const E*>(read[s]);
  }
  GRADUAL_HD GRADUAL_INLINE void* out(int s) const { return written[s]; }
};

namespace detail {

/// The sink of loops that reduce nothing.
struct NoSink {
  template <int S, class X>
  GRADUAL_DEVICE void reduce(X, std::int64_t) {}
};

/// The current lane of each reduction over a row; ignores reductions over the batch.
template <class Body>
struct LaneSink {
  float f32[Body::slots];
  double f64[Body::slots];
  Best<float> best_f32[Body::slots];
  Best<double> best_f64[Body::slots];

  template <int S>
  GRADUAL_DEVICE auto& lane() {
    using Lane = typename Body::template Lane<S>::type;
    if constexpr (std::is_same_v<Lane, float>) return f32[S];
    else if constexpr (std::is_same_v<Lane, double>) return f64[S];
    else if constexpr (std::is_same_v<Lane, Best<float>>) return best_f32[S];
    else return best_f64[S];
  }
  GRADUAL_DEVICE void begin_row() {
    Body::template for_slots<is_row_reduced>(
        [&](auto s) { this->template lane<s()>() = Body::template Lane<s()>::identity(); });
  }
  template <int S, class X>
  GRADUAL_DEVICE void reduce(X x, std::int64_t c) {
    using Lane = typename Body::template Lane<S>;
    if constexpr (Body::template slot<S>.source == Source::row_reduce) lane<S>() = Lane::join(lane<S>(), Lane::of(x, c));
  }
};

/// The totals of sums over the batch, to which closed blocks are added.
template <class Body>
struct Totals {
  typename Body::Shadow of_floats[Body::slots];
  double of_doubles[Body::slots];

  template <int S>
  GRADUAL_DEVICE auto& of() {
    if constexpr (std::is_same_v<typename Body::template Total<S>, typename Body::Shadow>) return of_floats[S];
    else return of_doubles[S];
  }
};

template <class T>
GRADUAL_DEVICE Best<T> shuffle_down(Best<T> lane, int by) {
  return {cuda::shuffle_down(lane.value, by), cuda::shuffle_down(lane.index, by)};
}
using cuda::shuffle_down;

}  // namespace detail

inline constexpr int map_threads = 256, row_threads = 128;  ///< in a block

/// Elements that a thread computes at once, so that it waits for memory once for all of them: as many as leave registers for
/// other threads. For Adam's update, which reads four numbers, 1, 2 and 4 gave 0.81, 0.86 and 0.75 of a triad's bandwidth on an
/// H200.
template <class Body>
inline constexpr int elements_at_once = Body::reads_of_element <= 1 ? 4 : Body::reads_of_element <= 4 ? 2 : 1;

/// Computes the elements of a loop, each on its own, by all threads of the launch.
template <class Body>
GRADUAL_DEVICE void map_elements(const LoopMemory<Body::slots>& memory, const Step& step) {
  constexpr std::int64_t columns = Body::columns;
  constexpr int most = elements_at_once<Body>;
  const std::int64_t elements = Body::elements * (Body::batched ? step.batch : 1), apart = global_threads();
  const auto column = [](std::int64_t i) { return columns < 0 ? i : i % columns; };
  detail::NoSink sink;
  for (std::int64_t first = global_thread(); first < elements; first += most * apart) {
    typename Body::Row row[most];
    typename Body::Values values[most];
    GRADUAL_UNROLL(4)
    for (int n = 0; n < most; ++n)
      if (const std::int64_t i = first + n * apart; i < elements) {
        Body::start_row(memory, step.random, row[n], columns < 0 ? 0 : i / columns);
        Body::read_element(row[n], values[n], column(i));
      }
    GRADUAL_UNROLL(4)
    for (int n = 0; n < most; ++n)
      if (const std::int64_t i = first + n * apart; i < elements) Body::finish_element(row[n], values[n], sink, column(i));
  }
}

/// The number of canonical lanes that have an element in a row, rounded up to a power of two: so many threads reduce it.
template <class Body>
inline constexpr int lanes_of_row = [] {
  int lanes = 1;
  while (lanes < canonical_lanes && lanes < Body::columns) lanes *= 2;
  return lanes;
}();

/// Joins the canonical lanes of a row, for its first thread. The first `Lanes` of them belong to adjacent threads; the others
/// have no element. All threads of the warp must call it.
template <class Lane, int Lanes = canonical_lanes>
GRADUAL_DEVICE typename Lane::type join_lanes(typename Lane::type mine) {
  for (int half = canonical_lanes / 2; half > 0; half /= 2)
    mine = Lane::join(mine, half < Lanes ? detail::shuffle_down(mine, half) : Lane::identity());
  return mine;
}

/// Joins the lanes of a row, like `join_lanes`, and writes its results. `writes`: whether this thread has a row.
template <class Body, int Lanes>
GRADUAL_DEVICE void finish_row(const typename Body::Row& row, detail::LaneSink<Body>& sink, bool writes = true) {
  Body::template for_slots<is_row_reduced>([&](auto s) {
    using Lane = typename Body::template Lane<s()>;
    const auto mine = join_lanes<Lane, Lanes>(sink.template lane<s()>());
    using Element = typename Body::template Element<s()>;
    if (writes && thread_index() % Lanes == 0)
      *static_cast<Element*>(row.out[s()]) = static_cast<Element>(Lane::result(mine));
  });
}

/// Reduces rows: a warp for each row, its lanes the canonical ones, or for several narrow rows. `Stores`: also writes elements.
template <class Body, bool Stores>
GRADUAL_DEVICE void reduce_rows(const LoopMemory<Body::slots>& memory, const Step& step) {
  constexpr int lanes = lanes_of_row<Body>, most = Body::columns <= lanes ? elements_at_once<Body> : 1;
  const std::int64_t rows = Body::rows * (Body::batched ? step.batch : 1), apart = global_threads() / lanes;
  const std::int64_t mine = thread_index() % warp_size / lanes, lane = thread_index() % lanes;
  for (std::int64_t first = global_thread() / warp_size * (warp_size / lanes); first < rows; first += most * apart) {
    typename Body::Row row[most];
    typename Body::Values values[most];
    detail::LaneSink<Body> sink[most];
    const auto has = [&](int n) { return first + mine + n * apart < rows; };
    GRADUAL_UNROLL(4)
    for (int n = 0; n < most; ++n) {
      sink[n].begin_row();
      if (!has(n)) continue;
      Body::start_row(memory, step.random, row[n], first + mine + n * apart);
      if (lane < Body::columns) Body::read_element(row[n], values[n], lane);
    }
    GRADUAL_UNROLL(4)
    for (int n = 0; n < most; ++n) {
      if (has(n) && lane < Body::columns) Body::template finish_element<Stores>(row[n], values[n], sink[n], lane);
      for (std::int64_t c = lane + lanes; has(n) && c < Body::columns; c += lanes)
        Body::template element<Stores>(row[n], sink[n], c);
      finish_row<Body, lanes>(row[n], sink[n], has(n));
    }
  }
}

/// The one map kernel.
template <class Body>
GRADUAL_KERNEL_OF(map_threads) void map_kernel(LoopMemory<Body::slots> memory, const Step* step) {
  if (!step->skipped) map_elements<Body>(memory, *step);
}

/// The one row kernel.
template <class Body, bool Stores>
GRADUAL_KERNEL_OF(row_threads) void row_kernel(LoopMemory<Body::slots> memory, const Step* step) {
  if (!step->skipped) reduce_rows<Body, Stores>(memory, *step);
}

}  // namespace gradual::cuda
