#pragma once
#include <gradual/autodiff/cpu/interpreted_loop.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <utility>

#include <gradual/autodiff/cpu/op_loops.hpp>
#include <gradual/autodiff/row_lane.hpp>
#include <gradual/autodiff/strided_view.hpp>
#include <gradual/autodiff/with_type.hpp>
#include <gradual/core/block_pieces.hpp>

namespace gradual::cpu {

GRADUAL_BEGIN_LOOPS

namespace detail {

/// Runs one loop, op after op, for as many elements at a time as there is room for.
class LoopInterpreter {
 public:
  LoopInterpreter(const InterpretedLoop& loop, const StepArguments& arguments)
      : loop_(loop), form_(loop.form), a_(arguments), samples_(form_.domain.batched() ? arguments.batch : 1) {
    make_room();
  }

  void run() {
    if (form_.columns < 0) {
      const auto [first, last] = a_.part.of(form_.domain.unit() * samples_, 64);
      return run_row(0, {first, last});
    }
    const std::int64_t rows = form_.domain.product(0, form_.row_axes);
    if (!form_.batch_reduces) {
      const auto [first, last] = a_.part.of(rows * samples_);
      return run_rows(first, last, {0, form_.columns});
    }
    const std::int64_t begin = a_.begin * rows, end = begin + rows * samples_;
    const Part::Range columns = form_.divisible() ? a_.part.of(form_.columns, 16) : Part::Range{0, form_.columns};
    if (a_.first) for_sums([&](const Sums& sums) { clear(sums.totals, sums.total_bytes, columns); });
    for (const BlockPiece& piece : BlockPieces(begin, end, rows, a_.last)) {
      if (piece.begins) for_sums([&](const Sums& sums) { clear(sums.block, sums.block_bytes, columns); });
      run_rows(piece.begin - begin, piece.end - begin, columns);
      if (piece.closes) for_sums([&](const Sums& sums) { sums.add_block(sums.totals, sums.block, columns); });
    }
  }

 private:
  /// Elements that are computed together: those of whole rows, or some of one row.
  struct Chunk {
    std::int64_t row, rows, column, columns;
    std::int64_t begin, count;  ///< in the order of the domain
  };

  std::span<const Slot> slots() const { return {form_.slots, static_cast<std::size_t>(form_.count)}; }
  const OpInfo& op_of(const Slot& slot) const { return *loop_.nodes[slot.node].op; }

  // Sums over samples.

  struct Sums {
    void *totals, *block;
    std::int64_t total_bytes, block_bytes;
    void (*add_block)(void* totals, const void* block, Part::Range);
  };
  template <class F>
  void for_sums(F f) const {
    for (const Slot& slot : slots()) {
      if (!is_batch_reduced(slot)) continue;
      void *const totals = a_.address[slot.node], *const block = a_.open[slot.node];
      if (form_.slots[slot.in[0]].dtype == DType::f64) f(Sums{totals, block, 8, 8, &cpu::add_block<double, double>});
      else f(Sums{totals, block, loop_.total_bytes, 4, loop_.add_block});
    }
  }
  static void clear(void* sums, std::int64_t bytes, Part::Range part) {
    std::memset(static_cast<std::byte*>(sums) + part.begin * bytes, 0,
                static_cast<std::size_t>((part.end - part.begin) * bytes));
  }

  // The places of values.

  static constexpr std::int64_t room = 16384, lane_bytes = canonical_lanes * 8, least = 8;
  // A member of a loop has at most three operands, or one and lanes if it is a reduction.
  static_assert((1 + 4 * max_members) * least * 8 <= room && max_members * (lane_bytes + least * 8) + least * 8 <= room);

  /// The type in which a slot is computed.
  static DType type_of(const Slot& slot) { return slot.dtype == DType::u8 ? DType::f32 : computed_in(slot.dtype); }
  /// Whether a slot's values are where they are stored, or loaded from, unless others take their place.
  bool is_in_place(const Slot& slot, std::span<void* const> stored) const {
    if (type_of(slot) != slot.dtype) return false;
    if (slot.source == Source::map) return slot.stored;
    return slot.source == Source::load && std::ranges::find(stored, a_.address[slot.memory]) == stored.end();
  }

  /// Lays out the values of a chunk, and the lanes of rows that are reduced piece by piece.
  void make_room() {
    void* stored[max_members];
    std::size_t stores = 0;
    for (const Slot& slot : slots())
      if (slot.stored) stored[stores++] = a_.address[slot.node];
    std::int64_t values = 1, lanes = 0, size = 4;
    for (int s = 0; s < form_.count; ++s) {
      const Slot& slot = form_.slots[s];
      if (slot.dtype == DType::f64) size = 8;
      in_memory_[s] = is_in_place(slot, {stored, stores});
      if (is_row_reduced(slot)) ++lanes;
      else if (is_evaluated(slot) && !is_batch_reduced(slot) && !in_memory_[s]) ++values;
    }
    most_ = (room - lanes * lane_bytes) / (values * size);
    most_ = most_ >= canonical_lanes ? most_ / canonical_lanes * canonical_lanes
                                     : static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(most_)));
    std::byte *next_lanes = room_, *next = room_ + lanes * lane_bytes;
    spare_ = std::exchange(next, next + most_ * size);
    for (int s = 0; s < form_.count; ++s) {
      const Slot& slot = form_.slots[s];
      if (is_row_reduced(slot))
        place_[s] = std::exchange(next_lanes, next_lanes + lane_bytes);
      else if (in_memory_[s])
        place_[s] = static_cast<std::byte*>(a_.address[slot.source == Source::load ? slot.memory : slot.node]);
      else if (is_evaluated(slot) && !is_batch_reduced(slot))
        place_[s] = std::exchange(next, next + most_ * size);
    }
  }

  template <class T>
  T* value(int s, const Chunk& chunk) const {
    return reinterpret_cast<T*>(place_[s]) + (in_memory_[s] ? chunk.begin : 0);
  }
  /// Returns the values of slot s in T. An op has at most one operand of another type: a condition, or what it converts.
  template <class T>
  const T* operand(int s, const Chunk& chunk) const {
    const DType type = type_of(form_.slots[s]);
    if (type == dtype_of<T>) return value<T>(s, chunk);
    T* const converted = reinterpret_cast<T*>(spare_);
    with_computed(type, [&](auto x) { std::copy_n(value<decltype(x)>(s, chunk), chunk.count, converted); });
    return converted;
  }
  template <class E, class T>
  void store(const Slot& slot, const T* from, std::int64_t begin, std::int64_t count) const {
    E* const to = static_cast<E*>(a_.address[slot.node]) + begin;
    for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<E>(static_cast<Computed<E>>(from[i]));
  }

  // Rows, chunk by chunk.

  void run_rows(std::int64_t first, std::int64_t last, Part::Range columns) {
    const std::int64_t width = columns.end - columns.begin;
    filled_ = false;
    if (width < form_.columns || width > most_) {
      for (std::int64_t row = first; row < last; ++row) run_row(row, columns);
      return;
    }
    const std::int64_t together = width == 0 ? most_ : most_ / width;
    for (std::int64_t row = first; row < last; row += together) {
      const std::int64_t rows = std::min(together, last - row);
      run_chunk({row, rows, 0, width, row * width, rows * width});
    }
  }
  void run_row(std::int64_t row, Part::Range columns) {
    for (std::int64_t c = columns.begin; c < columns.end; c += most_) {
      const std::int64_t count = std::min(most_, columns.end - c);
      run_chunk({row, 1, c, count, row * form_.columns + c, count});
    }
  }
  void run_chunk(const Chunk& chunk) {
    for (int s = 0; s < form_.count; ++s) {
      const Slot& slot = form_.slots[s];
      if (is_reduced(slot)) {
        if (type_of(form_.slots[slot.in[0]]) == DType::f64) reduce<double>(s, chunk);
        else reduce<float>(s, chunk);
      } else if (is_evaluated(slot)) {
        with_element(slot.dtype, [&](auto e) { evaluate<decltype(e)>(s, chunk); });
      }
    }
    filled_ = true;
  }

  /// Whether a slot has the same values in all chunks, none of which is larger than the first.
  bool repeats(const Slot& slot, const Chunk& chunk) const {
    if (slot.source == Source::constant) return true;
    if (!strided(slot.source) || (form_.columns >= 0 && chunk.columns < form_.columns)) return false;
    return std::none_of(slot.stride, slot.stride + form_.row_axes, [](std::int64_t stride) { return stride != 0; });
  }
  template <class E>
  void evaluate(int s, const Chunk& chunk) const {
    const Slot& slot = form_.slots[s];
    if (slot.source == Source::load && in_memory_[s]) return;
    auto* const out = value<Computed<E>>(s, chunk);
    if (!filled_ || !repeats(slot, chunk)) compute<E>(slot, chunk, out);
    if (slot.stored && !in_memory_[s]) store<E>(slot, out, chunk.begin, chunk.count);
  }

  // One slot, for all elements of a chunk: its elements in memory are E, and computed in T.

  template <class E, class T>
  void compute(const Slot& slot, const Chunk& chunk, T* out) const {
    switch (slot.source) {
      case Source::load: {
        const E* const from = begin_of<E>(slot) + chunk.begin;
        for (std::int64_t i = 0; i < chunk.count; ++i) out[i] = static_cast<T>(from[i]);
        return;
      }
      case Source::view: return read<E>(slot, view_of(slot), chunk.begin, chunk.count, out);
      case Source::pad:
      case Source::join: return read_pieces<E>(slot, chunk, out);
      case Source::iota:
        return read_view(view_of(slot), chunk.begin, chunk.count, out, [](std::int64_t at) { return static_cast<T>(at); });
      case Source::constant:
        std::fill_n(out, chunk.count, rounded_to<E>(slot.number));
        return;
      default:
        if constexpr (!std::is_integral_v<E>) {
          if (slot.source == Source::random) draw(slot, chunk, out);
          else map(slot, chunk, out);
          if constexpr (is_small_float<E>)
            for (std::int64_t i = 0; i < chunk.count; ++i) out[i] = rounded_to<E>(out[i]);
        }
    }
  }

  template <class E>
  const E* begin_of(const Slot& slot) const {
    return static_cast<const E*>(a_.address[slot.memory]);
  }
  StridedView view_of(const Slot& slot) const {
    StridedView view;
    view.offset = slot.offset;
    for (int i = 0; i < form_.domain.rank; ++i) view.append(form_.domain.extent_of(i, samples_), slot.stride[i]);
    return view;
  }
  template <class E, class T>
  void read(const Slot& slot, const StridedView& view, std::int64_t begin, std::int64_t count, T* out) const {
    const E* const from = begin_of<E>(slot);
    read_view(view, begin, count, out, [from](std::int64_t at) { return static_cast<T>(from[at]); });
  }

  /// Reads a padded view, which has one piece, or a join.
  template <class E, class T>
  void read_pieces(const Slot& slot, const Chunk& chunk, T* out) const {
    const bool joins = slot.source == Source::join;
    const Slot* const first_piece = joins ? form_.slots + slot.in[0] : &slot;
    const std::span<const Slot> pieces(first_piece, joins ? static_cast<std::size_t>(slot.in[1]) : 1);
    const std::int64_t inner = form_.domain.product(slot.axis + 1, form_.domain.rank);
    const std::int64_t all = form_.domain.extent[slot.axis] * inner;
    const StridedView view = view_of(slot);
    for (std::int64_t i = 0, count = 0; i < chunk.count; i += count) {
      const std::int64_t outer = (chunk.begin + i) / all, at = (chunk.begin + i) % all;
      const auto piece = std::ranges::partition_point(pieces, [&](const Slot& p) { return p.last * inner <= at; });
      const std::int64_t first = piece == pieces.end() ? all : piece->first * inner;
      const std::int64_t end = at < first ? first : piece->last * inner;
      count = std::min(end - at, chunk.count - i);
      if (at < first) {
        std::fill_n(out + i, count, rounded_to<E>(slot.number));
      } else if (joins) {
        const E* const from = begin_of<E>(*piece) + outer * (end - first) + at - first;
        for (std::int64_t k = 0; k < count; ++k) out[i + k] = static_cast<T>(from[k]) + static_cast<T>(slot.number);
      } else {
        read<E>(slot, view, chunk.begin + i, count, out + i);
      }
    }
  }

  template <class T>
  void draw(const Slot& slot, const Chunk& chunk, T* out) const {
    const std::int64_t unit = form_.domain.unit();
    gradual::detail::with_draw<T>(loop_.nodes[slot.node], a_.random.on, [&](auto drawn) {
      for (std::int64_t i = 0, count = 0; i < chunk.count; i += count) {
        const std::int64_t sample = (chunk.begin + i) / unit, first = (chunk.begin + i) % unit;
        count = std::min(unit - first, chunk.count - i);
        const std::uint64_t key = a_.random.key(slot.which, form_.domain.batched(), sample);
        GRADUAL_IVDEP
        for (std::int64_t k = 0; k < count; ++k) out[i + k] = drawn(key, static_cast<std::uint32_t>(first + k));
      }
    });
  }

  template <class T>
  void map(const Slot& slot, const Chunk& chunk, T* out) const {
    const OpInfo& op = op_of(slot);
    const auto run = [&](auto x) {
      const decltype(x)* in[3]{};
      for (int k = 0; k < 3; ++k) in[k] = k < op.arity ? operand<decltype(x)>(slot.in[k], chunk) : in[0];
      run_map(op, library_loops(op), out, in[0], in[1], in[2], chunk.count);
    };
    if (form_.slots[slot.in[op.arity - 1]].dtype != DType::i32) run(T{});
    else if constexpr (std::is_same_v<T, float>) run(std::int32_t{});
  }

  template <class T>
  void reduce(int s, const Chunk& chunk) const {
    const Slot& slot = form_.slots[s];
    const T* const x = value<T>(slot.in[0], chunk);
    if (is_batch_reduced(slot)) add_rows(x, chunk, static_cast<T*>(a_.open[slot.node]) + chunk.column);
    else if (is<ArgMax>(loop_.nodes[slot.node])) find_largest(slot, x, chunk, reinterpret_cast<Best<T>*>(place_[s]));
    else reduce_rows(slot, x, chunk, reinterpret_cast<T*>(place_[s]));
  }
  template <class T>
  void add_rows(const T* x, const Chunk& chunk, T* sum) const {
    for (std::int64_t r = 0; r < chunk.rows; ++r, x += chunk.columns) {
      GRADUAL_IVDEP
      for (std::int64_t c = 0; c < chunk.columns; ++c) sum[c] += x[c];
    }
  }
  bool begins_rows(const Chunk& chunk) const { return chunk.column == 0; }
  bool ends_rows(const Chunk& chunk) const { return chunk.column + chunk.columns == form_.columns; }
  /// `lane`: keeps the lanes of a row from chunk to chunk.
  template <class T>
  void reduce_rows(const Slot& slot, const T* x, const Chunk& chunk, T* lane) const {
    const OpInfo& op = op_of(slot);
    T* const results = reinterpret_cast<T*>(spare_);
    if (begins_rows(chunk) && ends_rows(chunk)) {
      cpu::run_rows(op, library_loops(op), results, x, chunk.rows, chunk.columns);
    } else {
      if (begins_rows(chunk)) std::fill_n(lane, canonical_lanes, static_cast<T>(op.identity));
      run_lanes(op, library_loops(op), lane + chunk.column % canonical_lanes, x, chunk.columns);
      if (!ends_rows(chunk)) return;
      cpu::run_rows(op, library_loops(op), results, lane, 1, canonical_lanes);
    }
    with_type(slot.dtype, [&](auto e) { store<decltype(e)>(slot, results, chunk.row, chunk.rows); });
  }
  /// `best`: keeps the largest of a row from chunk to chunk.
  template <class T>
  void find_largest(const Slot& slot, const T* x, const Chunk& chunk, Best<T>* best) const {
    using Lane = RowLane<ArgMax, T>;
    for (std::int64_t r = 0; r < chunk.rows; ++r, x += chunk.columns) {
      if (begins_rows(chunk)) *best = Lane::identity();
      for (std::int64_t c = 0; c < chunk.columns; ++c) *best = Lane::join(*best, Lane::of(x[c], chunk.column + c));
      if (ends_rows(chunk)) static_cast<std::int32_t*>(a_.address[slot.node])[chunk.row + r] = best->index;
    }
  }

  const InterpretedLoop& loop_;
  const LoopForm& form_;
  const StepArguments& a_;
  std::int64_t samples_;
  std::int64_t most_;    ///< elements of a chunk: whole lanes, or a power of two
  bool filled_ = false;  ///< whether values that repeat are there
  std::byte* spare_;     ///< for values that are converted, and results of reductions
  std::byte* place_[InterpretedLoop::most_slots];
  bool in_memory_[InterpretedLoop::most_slots];
  alignas(64) std::byte room_[room];
};

}  // namespace detail

GRADUAL_ONCE void interpret_loop(const StepArguments& arguments) {
  detail::LoopInterpreter(*static_cast<const InterpretedLoop*>(arguments.loop), arguments).run();
}

GRADUAL_END_LOOPS

}  // namespace gradual::cpu
