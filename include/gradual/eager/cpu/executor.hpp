#pragma once
#include <algorithm>
#include <optional>
#include <utility>

#include <gradual/autodiff/cpu/pooling_kernel.hpp>
#include <gradual/core/cpu/convolution.hpp>
#include <gradual/core/cpu/gather.hpp>
#include <gradual/core/numerics_check.hpp>
#include <gradual/eager/cpu/batch_sum.hpp>
#include <gradual/eager/cpu/kernels.hpp>
#include <gradual/eager/cpu/operands.hpp>
#include <gradual/eager/executor.hpp>

namespace gradual::eager {

/// Calls f(a value of the type).
template <class F>
decltype(auto) with_type(DType dtype, F f) {
  if (dtype == DType::f32) return f(float{});
  if (dtype == DType::f64) return f(double{});
  return f(std::int32_t{});
}

/// Runs ops on the processor: those of the list `Ops` as vector code, others through their scalar functors. Views are
/// read where they are used, a chunk at a time.
template <class Ops>
class CpuExecutor final : public Executor {
 public:
  explicit CpuExecutor(const Device& device) : Executor(device) { check_numerics(); }

  void run(const Tape& tape, int id) override {
    const Node& node = tape[id];
    switch (node.op->kind) {
      case Kind::input: return find_input(tape, id);
      case Kind::constant:
      case Kind::iota:
      case Kind::broadcast:
      case Kind::transpose:
      case Kind::slice: return;
      case Kind::pad: return with_type(node.dtype, [&](auto t) { pad<decltype(t)>(tape, id); });
      case Kind::random: return with_type(node.dtype, [&](auto t) { draw<decltype(t)>(tape, id); });
      case Kind::reshape: return share(tape, id);
      case Kind::map:
        if (is<StopGradient>(node)) return share(tape, id);
        return with_type(node.dtype, [&](auto t) { map<decltype(t)>(tape, id); });
      case Kind::row_reduce: return with_type(tape[node.in[0]].dtype, [&](auto t) { row_reduce<decltype(t)>(tape, id); });
      case Kind::contract: return with_type(node.dtype, [&](auto t) { contract<decltype(t)>(tape, id); });
      case Kind::gather: return with_type(node.dtype, [&](auto t) { gather<decltype(t)>(tape, id); });
      case Kind::pool: return with_type(node.dtype, [&](auto t) { pool<decltype(t)>(tape, id); });
      case Kind::convolve: return with_type(node.dtype, [&](auto t) { convolve<decltype(t)>(tape, id); });
      case Kind::batch_reduce:
      case Kind::batch_contract:
      case Kind::batch_convolve:
      case Kind::batch_scatter: {
        Shadow whole;
        reserve(tape, id, whole, 0, true);
        add_cut(tape, id, whole, 0, true);
        close_cut(tape, id, whole);
        hold(id, std::move(whole.total));
      }
    }
  }

  void add_cut(const Tape& tape, int cut, Shadow& shadow, std::int64_t begin, bool last) override {
    with_type(tape[cut].dtype, [&](auto t) { add_samples<decltype(t)>(tape, cut, shadow, begin, last); });
  }

  void close_cut(const Tape& tape, int cut, Shadow& shadow) override {
    with_type(tape[cut].dtype, [&](auto t) { close<decltype(t)>(shadow, tape[cut].shape.unit()); });
  }

  void reserve(const Tape& tape, int cut, Shadow& shadow, std::int64_t begin, bool last) override {
    Executor::reserve(tape, cut, shadow, begin, last);
    with_type(tape[cut].dtype, [&](auto t) { workspace<decltype(t)>(cut_workspace<decltype(t)>(tape, tape[cut])); });
  }

 private:
  template <class T>
  const T* read(const Tape& tape, int id) {
    return static_cast<const T*>(dense(tape, id));
  }
  template <class T>
  T* allocate_as(const Tape& tape, int id) {
    return static_cast<T*>(allocate(tape, id));
  }
  /// At least that many elements to work in; what was taken once is kept.
  template <class T>
  T* workspace(std::int64_t elements) {
    const std::int64_t bytes = elements * static_cast<std::int64_t>(sizeof(T));
    if (bytes > workspace_bytes_) {
      workspace_ = device_.allocate(bytes);
      workspace_bytes_ = bytes;
    }
    return workspace_.as<T>();
  }

  template <class T>
  void draw(const Tape& tape, int id) {
    const Node& node = tape[id];
    const std::uint32_t threshold = random_.on ? DropoutMask::threshold(node.attributes.number[0]) : 0;
    const T scale = random_.on ? static_cast<T>(1 / (1 - node.attributes.number[0])) : T(1);
    const std::int64_t unit = node.shape.unit();
    T* out = allocate_as<T>(tape, id);
    for (std::int64_t sample = 0; sample < batch_; ++sample, out += unit) {
      const std::uint64_t key = random_.key(node.attributes.integer[0], sample);
      GRADUAL_IVDEP
      for (std::int64_t i = 0; i < unit; ++i) out[i] = DropoutMask::apply(key, static_cast<std::uint32_t>(i), threshold, scale);
    }
  }

  /// Operand `id` as elements of T; `k` says which buffer it may use. `view` keeps what is read through one.
  template <class T>
  Operand<T> operand(const Tape& tape, int id, int k, std::optional<View>& view) {
    const Node& node = tape[id];
    const std::int64_t count = elements(node);
    T* const buffer = reinterpret_cast<T*>(buffers_[k]);
    if (node.op->kind == Kind::constant) return Operand<T>::constant(static_cast<T>(node.attributes.number[0]), count, buffer);
    if (node.dtype != dtype_of<T>)
      return with_type(node.dtype, [&](auto t) { return converted<T, decltype(t)>(tape, id, k); });
    if (is_view(node.op->kind) && values_[index(id)].data == nullptr) {
      const bool iota = node.op->kind == Kind::iota;
      const T* source = iota ? nullptr : read<T>(tape, node.in[0]);
      view.emplace(node, iota ? node.shape : tape[node.in[0]].shape, batch_);
      return Operand<T>::view(*view, source, count, buffer);
    }
    return Operand<T>::dense(read<T>(tape, id));
  }

  template <class T>
  void pad(const Tape& tape, int id) {
    const Node& node = tape[id];
    const Shape& from = tape[node.in[0]].shape;
    const int axis = static_cast<int>(node.attributes.integer[0]);
    std::int64_t inner = 1;
    for (int i = axis + 1; i < from.rank; ++i) inner *= from.extent[i] * (i == from.batch_axis ? batch_ : 1);
    const T* x = read<T>(tape, node.in[0]);
    const T value = static_cast<T>(node.attributes.number[0]);
    const std::int64_t own = from.extent[axis] * inner, row = node.shape.extent[axis] * inner,
                       before = node.attributes.integer[1] * inner;
    T *out = allocate_as<T>(tape, id), *const end = out + elements(node);
    for (; out != end; out += row, x += own) {
      std::fill(out, out + before, value);
      std::copy(x, x + own, out + before);
      std::fill(out + before + own, out + row, value);
    }
  }

  /// An operand of another type, such as the condition of a choice between doubles, converted as a whole.
  template <class T, class From>
  Operand<T> converted(const Tape& tape, int id, int k) {
    const From* from = read<From>(tape, id);
    const std::int64_t count = elements(tape[id]);
    converted_[k] = device_.allocate(bytes_of(tape[id].shape, batch_, dtype_of<T>));
    T* to = converted_[k].template as<T>();
    for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(from[i]);
    return Operand<T>::dense(to);
  }

  void materialise(const Tape& tape, int id) override {
    with_type(tape[id].dtype, [&](auto t) {
      using T = decltype(t);
      std::optional<View> view;
      const Operand<T> x = operand<T>(tape, id, 3, view);  // the others may hold operands of whom this is made for
      const std::int64_t count = elements(tape[id]);
      Storage storage = device_.allocate(bytes_of(tape[id].shape, batch_, tape[id].dtype));
      for (std::int64_t at = 0; at < count; at += chunk) {
        const std::int64_t here = std::min(chunk, count - at);
        std::memcpy(storage.as<T>() + at, x.at(at, here), static_cast<std::size_t>(here) * sizeof(T));
      }
      hold(id, std::move(storage));
    });
  }

  /// An elementwise op; R is the type of its result. An op that no list names runs through its scalar functor.
  template <class R>
  void map(const Tape& tape, int id) {
    const Node& node = tape[id];
    const auto& loops = table.of(*node.op);
    if (tape[node.in[node.op->arity - 1]].dtype == DType::i32)
      return map_elements<std::int32_t>(tape, id, [&](void* out, auto* a, auto* b, auto* c, std::int64_t count) {
        if (loops.map_i32 != nullptr) return loops.map_i32(out, a, b, c, count);
        if (node.op->i32 == nullptr) throw ShapeError(std::string(node.op->name) + ": has no rule for integers");
        for (std::int64_t i = 0; i < count; ++i) static_cast<float*>(out)[i] = node.op->i32(a[i], b[i], c[i]);
      });
    if constexpr (!std::is_same_v<R, std::int32_t>)
      map_elements<R>(tape, id, [&](void* out, const R* a, const R* b, const R* c, std::int64_t count) {
        if constexpr (sizeof(R) == 4) run_map(*node.op, loops.map_f32, static_cast<R*>(out), a, b, c, count);
        else run_map(*node.op, loops.map_f64, static_cast<R*>(out), a, b, c, count);
      });
  }

  /// Calls loop(out, a, b, c, count) for chunks of the elements; operands that an op does not have repeat the first.
  template <class T, class Loop>
  void map_elements(const Tape& tape, int id, Loop loop) {
    const Node& node = tape[id];
    std::optional<View> views[3];
    Operand<T> in[3];
    bool memory = true;
    for (int k = 0; k < 3; ++k) {
      in[k] = k < node.op->arity ? operand<T>(tape, node.in[k], k, views[k]) : in[0];
      memory = memory && in[k].in_memory();
    }
    const std::int64_t count = elements(node), step = memory ? count : chunk;
    const auto size = static_cast<std::int64_t>(size_of(node.dtype));
    auto* out = allocate_as<std::byte>(tape, id);
    for (std::int64_t at = 0; at < count; at += step) {
      const std::int64_t here = std::min(step, count - at);
      const T* a = in[0].at(at, here);
      const T* b = node.op->arity > 1 ? in[1].at(at, here) : a;
      const T* c = node.op->arity > 2 ? in[2].at(at, here) : a;
      loop(out + at * size, a, b, c, here);
    }
    for (Storage& temporary : converted_) temporary = {};
  }

  template <class T>
  void row_reduce(const Tape& tape, int id) {
    const Node& node = tape[id];
    const Shape& from = tape[node.in[0]].shape;
    const T* x = read<T>(tape, node.in[0]);
    const std::int64_t rows = elements(node);
    const std::int64_t columns = from.product(from.rank - static_cast<int>(node.attributes.integer[0]), from.rank);
    if (is<ArgMax>(node)) return argmax(x, allocate_as<std::int32_t>(tape, id), rows, columns);
    T* out = allocate_as<T>(tape, id);
    const auto& loops = table.of(*node.op);
    if constexpr (std::is_same_v<T, float>) {
      if (loops.row_f32 != nullptr) return loops.row_f32(out, x, rows, columns);
      detail::reduce_rows(out, x, rows, columns, static_cast<T>(node.op->identity),
                          [&](T a, T b) { return node.op->f32(a, b, 0); });
    } else if constexpr (std::is_same_v<T, double>) {
      if (loops.row_f64 != nullptr) return loops.row_f64(out, x, rows, columns);
      detail::reduce_rows(out, x, rows, columns, static_cast<T>(node.op->identity),
                          [&](T a, T b) { return node.op->f64(a, b, 0); });
    } else {
      throw ShapeError(std::string(node.op->name) + ": integers are not reduced");
    }
  }

  /// The first largest element of each row; NaN is the largest.
  template <class T>
  static void argmax(const T* x, std::int32_t* out, std::int64_t rows, std::int64_t columns) {
    for (std::int64_t r = 0; r < rows; ++r, x += columns) {
      std::int64_t best = 0;
      for (std::int64_t c = 1; c < columns; ++c)
        if (x[best] == x[best] && (x[c] > x[best] || x[c] != x[c])) best = c;
      out[r] = static_cast<std::int32_t>(best);
    }
  }

  template <class T>
  void contract(const Tape& tape, int id) {
    if constexpr (!std::is_same_v<T, std::int32_t>) {
      const Node& node = tape[id];
      const Shape &sa = tape[node.in[0]].shape, &sb = tape[node.in[1]].shape;
      const bool ta = node.attributes.integer[0] & 1, tb = node.attributes.integer[0] & 2;
      const auto extent = [&](const Shape& s, int axis) { return s.extent[axis] * (axis == s.batch_axis ? batch_ : 1); };
      const std::int64_t m = extent(node.shape, node.shape.rank - 2), n = extent(node.shape, node.shape.rank - 1);
      const std::int64_t k = extent(sa, sa.rank - (ta ? 2 : 1));
      const T *a = read<T>(tape, node.in[0]), *b = read<T>(tape, node.in[1]);
      T* c = allocate_as<T>(tape, id);
      const std::int64_t stack = m * n == 0 ? 0 : elements(node) / (m * n), b_step = sb.rank > 2 ? k * n : 0;
      const cpu::MatmulForm form{n, k, ta, tb};
      T* const space = workspace<T>(form.workspace<T>());
      for (std::int64_t s = 0; s < stack; ++s) cpu::matmul(form, a + s * m * k, b + s * b_step, c + s * m * n, m, space);
    }
  }

  static cpu::BatchContractionForm form_of(const Tape& tape, const Node& node) {
    return {node.shape.extent[0], node.shape.extent[1], positions(tape, node)};
  }

  static Convolution convolution_of(const Tape& tape, const Node& node) {
    return gradual::convolution_of(node, tape[node.in[0]].shape, tape[node.in[1]].shape);
  }

  template <class T>
  void convolve(const Tape& tape, int id) {
    if constexpr (!std::is_same_v<T, std::int32_t>) {
      const Node& node = tape[id];
      const Convolution c = convolution_of(tape, node);
      const T *x = read<T>(tape, node.in[0]), *w = read<T>(tape, node.in[1]);
      T* y = allocate_as<T>(tape, id);
      cpu::convolution(c, x, w, y, node.shape.extent[0] * batch_, workspace<T>(cpu::ConvolutionSpace<T>::forward(c)));
    }
  }

  template <class T>
  void pool(const Tape& tape, int id) {
    if constexpr (!std::is_same_v<T, std::int32_t>) {
      const Node& node = tape[id];
      const Pooling p = recorded_pooling(tape.nodes.data(), node);
      const void* in[3]{};
      for (int k = 0; k < node.op->arity; ++k) in[k] = read<T>(tape, node.in[k]);
      T* out = allocate_as<T>(tape, id);
      cpu::run_pooling(node, p, in, out, node.shape.product(0, 2) * batch_, workspace<T>(cpu::pooling_workspace(p)));
    }
  }

  template <class T>
  void gather(const Tape& tape, int id) {
    if constexpr (!std::is_same_v<T, std::int32_t>) {
      const Node& node = tape[id];
      const Shape& rows = tape[node.in[0]].shape;
      const auto* index = read<std::int32_t>(tape, node.in[1]);
      const std::int64_t count = tape[node.in[1]].shape.elements(batch_);
      for (std::int64_t s = 0; s < count; ++s)
        if (index[s] < 0 || index[s] >= rows.extent[0])
          throw DataError((Message() << "gather: index " << std::int64_t{index[s]} << " at position " << s
                                     << " is outside the " << rows.extent[0] << " rows").string());
      const T* from = read<T>(tape, node.in[0]);
      cpu::gather(from, index, allocate_as<T>(tape, id), count, rows.extent[1]);
    }
  }

  /// Elements that adding to a cut needs.
  template <class T>
  static std::int64_t cut_workspace(const Tape& tape, const Node& cut) {
    if (cut.op->kind == Kind::batch_contract) return form_of(tape, cut).template workspace<T>();
    if (cut.op->kind == Kind::batch_scatter) return cpu::scatter_workspace(cut.shape.extent[1]);
    if (cut.op->kind == Kind::batch_convolve) return cpu::ConvolutionSpace<T>::backward(convolution_of(tape, cut));
    return batch_sum_chains;
  }

  template <class T>
  void add_samples(const Tape& tape, int cut, Shadow& shadow, std::int64_t begin, bool last) {
    if constexpr (!std::is_same_v<T, std::int32_t>) {
      const Node& node = tape[cut];
      const std::int64_t p = positions(tape, node), end = (begin + batch_) * p;
      if (shadow.open_end != 0 && begin * p >= shadow.open_end) close<T>(shadow, node.shape.unit());
      if (shadow.open_end == 0 && p > 0 && block_begin(begin * p, p) != begin * p)  // the block began with other sums
        std::fill_n(shadow.open.as<T>(), node.shape.unit(), T(0));
      const cpu::WindowPart<T> part{shadow.total.as<T>(), shadow.open.empty() ? shadow.total.as<T>() : shadow.open.as<T>(),
                                    begin * p, batch_ * p, shadow.fresh, last};
      const T* x = read<T>(tape, node.in[0]);
      if (node.op->kind == Kind::batch_contract)
        cpu::batch_contraction(form_of(tape, node), x, read<T>(tape, node.in[1]), part, workspace<T>(0));
      else if (node.op->kind == Kind::batch_scatter)
        cpu::batch_scatter(x, read<std::int32_t>(tape, node.in[1]), node.shape.extent[0], node.shape.extent[1], p, part,
                           workspace<T>(0));
      else if (node.op->kind == Kind::batch_convolve)
        cpu::batch_convolution(convolution_of(tape, node), tape[node.in[0]].shape.extent[0], x,
                               read<T>(tape, node.in[1]), part, workspace<T>(0));
      else
        batch_sum(x, node.shape.unit(), p, part, workspace<T>(0));
      if (batch_ * p == 0) return;
      shadow.fresh = false;
      shadow.open_end = last || block_begin(end, p) == end ? 0 : block_end(end, p);
    }
  }

  template <class T>
  static void close(Shadow& shadow, std::int64_t count) {
    T *const total = shadow.total.as<T>(), *const open = shadow.open.as<T>();
    for (std::int64_t i = 0; i < count && shadow.fresh; ++i) total[i] = T(0);
    for (std::int64_t i = 0; i < count && shadow.open_end != 0; ++i) total[i] += open[i];
    shadow.fresh = false;
    shadow.open_end = 0;
  }

  void find_input(const Tape& tape, int id) {
    const Node& node = tape[id];
    const auto which = static_cast<std::size_t>(node.attributes.integer[0]);
    Value& value = values_[index(id)];
    if (node.attributes.integer[1] == Input::sample) {
      if (which >= inputs_.size()) throw TapeError("an input of an eager tape is given with its values");
      value.storage = inputs_[which].storage;
      value.data = inputs_[which].data;
    } else if (node.attributes.integer[1] == Input::parameter) {
      if (parameters_ == nullptr) throw TapeError("a parameter is read on a tape that was given no parameters");
      value.data = parameters_ + (*offsets_)[which];
    } else if (scalars_ != nullptr) {
      value.data = scalars_ + which;
    } else if (weight_ != nullptr && id >= tape.first_adjoint) {
      value.data = weight_;
    } else {
      with_type(node.dtype, [&](auto t) {
        using T = decltype(t);
        *allocate_as<T>(tape, id) = static_cast<T>(tape.scalars[which].at(0));
      });
    }
  }

  void share(const Tape& tape, int id) {
    dense(tape, tape[id].in[0]);
    const Value& source = values_[index(tape[id].in[0])];
    values_[index(id)].storage = source.storage;
    values_[index(id)].data = source.data;
  }

  static constexpr LoopTable<Ops> table{};
  Storage converted_[3];
  Storage workspace_;
  std::int64_t workspace_bytes_ = 0;
  alignas(64) std::byte buffers_[4][chunk * sizeof(double)];
};

}  // namespace gradual::eager
