#pragma once
#include <limits>

#include <gradual/autodiff/draw_of_node.hpp>
#include <gradual/autodiff/ops/conv2d.hpp>
#include <gradual/autodiff/ops/matmul.hpp>
#include <gradual/autodiff/ops/max_pool2d.hpp>
#include <gradual/cuda/block_split.hpp>
#include <gradual/cuda/eager/device.hpp>
#include <gradual/cuda/eager/kernels_of_op.hpp>
#include <gradual/cuda/gather.hpp>
#include <gradual/cuda/pooling.hpp>
#include <gradual/eager/by_sample.hpp>
#include <gradual/eager/executor.hpp>
#include <gradual/eager/workspace.hpp>

namespace gradual::cuda {

/// Runs eager ops on a GPU, a kernel for each, to the bits of the processor.
template <class Ops>
class EagerExecutor final : public gradual::eager::Executor {
  using Shadow = gradual::eager::Shadow;

 public:
  EagerExecutor(const Device& device, EagerDevice<Ops>& gpu) : Executor(device), gpu_(gpu) {
    sweep_elements_ = std::numeric_limits<std::int64_t>::max();  // no cache holds a part
  }

  /// Allocates also the workspace of sums. Errors: MemoryError.
  void reserve(const Tape& tape, int sum, Shadow& shadow, std::int64_t begin, bool last) override {
    Executor::reserve(tape, sum, shadow, begin, last);
    for (int k = 0; k < tape[sum].op->arity; ++k) dense(tape, tape[sum].in[k]);  // also the rows of several uses
    workspace_.at_least<std::byte>(device_, workspace_bytes(tape, sum));
  }

 private:
  void compute(const Tape& tape, int id) override {
    const Node& node = tape[id];
    refuse_sixteen_bits(tape, id);
    switch (node.op->kind) {
      case Kind::map:
        return run_map(tape, id);
      case Kind::row_reduce:
        return run_row_reduce(tape, id);
      case Kind::pad:
        return with_computed(node.dtype, [&](auto t) { run_pad<decltype(t)>(tape, id); });
      case Kind::random:
        return with_real(node, [&](auto t) { draw<decltype(t)>(tape, id); });
      case Kind::contract:
        return with_real(node, [&](auto t) { run_matmul<decltype(t)>(tape, id); });
      case Kind::convolve:
        return with_real(node, [&](auto t) { run_convolution<decltype(t)>(tape, id); });
      case Kind::gather:
        return with_real(node, [&](auto t) { run_gather<decltype(t)>(tape, id); });
      case Kind::gather_own:
      case Kind::scatter_own:
        return with_real(node, [&](auto t) { run_own_rows<decltype(t)>(tape, id); });
      case Kind::pool:
        return with_real(node, [&](auto t) { run_pool<decltype(t)>(tape, id); });
      default:
        return;  // not computed here
    }
  }

  /// Eager kernels compute in the type that values have in memory. Errors: TypeError for values of 16 bits.
  static void refuse_sixteen_bits(const Tape& tape, int id) {
    bool any = is_small(tape[id].dtype);
    for (int k = 0; k < tape[id].op->arity; ++k) any = any || is_small(tape[tape[id].in[k]].dtype);
    if (any) throw TypeError(std::string(tape[id].op->name) + ": eager values of 16 bits are not computed on a GPU");
  }

  /// Doubles, used for checks, have no large tiles: each size takes the compiler half a second.
  template <class T>
  static constexpr int largest_tile = sizeof(T) == 4 ? 128 : 32;

  template <class T>
  const T* read(const Tape& tape, int id) {
    return static_cast<const T*>(dense(tape, id));
  }
  template <class T>
  T* create(const Tape& tape, int id) {
    return static_cast<T*>(allocate(tape, id));
  }

  const KernelsOfOp& kernels(const OpInfo& op) const {
    const int place = index_in(Ops{}, op);
    if (place < 0)
      throw DeviceError(std::string(op.name) + ": has no kernel on " + device_.name() +
                        ": list it by Device::cuda<OpsFor<Mine>>");
    return kernels_of_list(Ops{})[place];
  }

  /// Returns node `id` as kernels read it.
  MapOperand operand(const Tape& tape, int id) {
    const Node& node = tape[id];
    MapOperand operand;
    operand.dtype = node.dtype;
    if (node.op->kind == Kind::constant) {
      operand.number = node.attributes.number;
    } else if (!in_memory(id) && gradual::eager::is_view(node.op->kind) && node.op->kind != Kind::uses) {
      const bool index = node.op->kind == Kind::iota;
      operand.from = index ? MapOperand::From::index : MapOperand::From::view;
      if (!index) operand.data = dense(tape, node.in[0]);
      operand.view = StridedView(node, index ? node.shape : tape[node.in[0]].shape, batch_);
    } else {
      operand.from = MapOperand::From::memory;
      operand.data = dense(tape, id);
    }
    return operand;
  }

  void run_map(const Tape& tape, int id) {
    const Node& node = tape[id];
    const KernelsOfOp& of = kernels(*node.op);
    const bool integers = tape[node.in[node.op->arity - 1]].dtype == DType::i32;
    const auto kernel = integers ? of.map_i32 : node.dtype == DType::f64 ? of.map_f64 : of.map_f32;
    MapTask task;
    for (int k = 0; k < node.op->arity; ++k) task.in[k] = operand(tape, node.in[k]);
    task.out = allocate(tape, id);
    task.count = elements(node);
    gpu_.launch(kernel, task.count, task);
  }

  void run_row_reduce(const Tape& tape, int id) {
    const Node& node = tape[id];
    const Shape& from = tape[node.in[0]].shape;
    const bool doubles = tape[node.in[0]].dtype == DType::f64;
    const KernelsOfOp& of = kernels(*node.op);
    RowTask task;
    task.x = dense(tape, node.in[0]);
    task.out = allocate(tape, id);
    task.rows = elements(node);
    task.columns = from.product(from.rank - static_cast<int>(node.attributes.integer[0]), from.rank);
    if (task.columns >= long_row && are_few(task.rows))
      gpu_.launch_blocks(doubles ? of.long_row_f64 : of.long_row_f32, task.rows, long_row_threads, task);
    else gpu_.launch(doubles ? of.row_f64 : of.row_f32, task.rows * warp_size, task);
  }

  template <class T>
  void run_pad(const Tape& tape, int id) {
    const Node& node = tape[id];
    const Shape& from = tape[node.in[0]].shape;
    const int axis = static_cast<int>(node.attributes.integer[0]);
    const std::int64_t inner = from.product(axis + 1, from.rank, batch_);
    const T* x = read<T>(tape, node.in[0]);
    gpu_.launch(&pad_kernel<T>, elements(node), x, create<T>(tape, id), static_cast<T>(node.attributes.number),
                from.extent[axis] * inner, node.attributes.integer[1] * inner, node.shape.extent[axis] * inner,
                elements(node));
  }

  void compute_join(const Tape& tape, int id, const gradual::eager::Join& join) override {
    refuse_sixteen_bits(tape, id);
    with_computed(tape[id].dtype, [&](auto t) { run_join<decltype(t)>(tape, id, join); });
  }
  template <class T>
  void run_join(const Tape& tape, int id, const gradual::eager::Join& join) {
    const Node& node = tape[id];
    const std::int64_t inner = node.shape.product(join.axis + 1, node.shape.rank, batch_);
    T* const out = create<T>(tape, id);
    for (const gradual::eager::JoinPiece& piece : join.pieces) {
      const Node& from = tape[piece.node];
      gpu_.launch(&piece_kernel<T>, elements(from), read<T>(tape, piece.node), out, static_cast<T>(join.zero),
                  from.shape.extent[join.axis] * inner, piece.first * inner, node.shape.extent[join.axis] * inner,
                  elements(from));
    }
  }

  template <class T>
  void draw(const Tape& tape, int id) {
    const Node& node = tape[id];
    gradual::detail::with_draw<T>(node, random_.on, [&](auto drawn) {
      gpu_.launch(&draw_kernel<T, decltype(drawn)>, elements(node), create<T>(tape, id), random_,
                  node.attributes.integer[0], node.shape.batched(), drawn, node.shape.unit(), elements(node));
    });
  }

  template <class T>
  void run_matmul(const Tape& tape, int id) {
    using Product = Contraction<T, Strided<T>, Strided<T>>;
    const Node& node = tape[id];
    const auto [ta, tb, m, n, k, stack] = product_of(node, tape[node.in[0]].shape, batch_);
    const T *a = read<T>(tape, node.in[0]), *b = read<T>(tape, node.in[1]);
    Product p{{a, ta ? 1 : k, ta ? m : 1, m * k},
              {b, tb ? k : 1, tb ? 1 : n, k * n},
              create<T>(tape, id),
              nullptr,
              m,
              n,
              k,
              stack,
              Product::Over::none};
    gpu_.whole([&](const Launch& launch) { start_contraction<largest_tile<T>>(p, launch); });
  }

  template <class T>
  void run_convolution(const Tape& tape, int id) {
    using Images = Contraction<T, KernelWeights<T>, ImagesByPosition<T>>;
    const Node& node = tape[id];
    const Convolution c = convolution_of(node, tape[node.in[0]].shape, tape[node.in[1]].shape);
    const T *x = read<T>(tape, node.in[0]), *w = read<T>(tape, node.in[1]);
    const Images p{{w, c},        {x, c},   create<T>(tape, id),           nullptr,           c.outputs,
                   c.positions(), c.taps(), node.shape.extent[0] * batch_ * c.groups, Images::Over::none};
    gpu_.whole([&](const Launch& launch) { start_contraction<largest_tile<T>>(p, launch); });
  }

  /// Gathers rows of a table. Indices were checked when the op was recorded.
  template <class T>
  void run_gather(const Tape& tape, int id) {
    const Node& node = tape[id];
    const Shape& rows = tape[node.in[0]].shape;
    const std::int64_t count = elements(tape[node.in[1]]);
    const GatherTask<T> task{read<T>(tape, node.in[0]),
                             read<std::int32_t>(tape, node.in[1]),
                             create<T>(tape, id),
                             nullptr,
                             rows.extent[0],
                             rows.extent[1],
                             count};
    gpu_.whole([&](const Launch& launch) {
      gpu_.launch(&rows_kernel<Kind::gather, GatherTask<T>>, count * rows.extent[1], task, launch.step);
    });
  }

  /// Gathers rows of each sample's own table, or sums rows into it. Indices were checked when the op was recorded.
  template <class T>
  void run_own_rows(const Tape& tape, int id) {
    const Node& node = tape[id];
    const bool scatters = node.op->kind == Kind::scatter_own;
    const Shape& table = scatters ? node.shape : tape[node.in[0]].shape;
    using Task = GatherTask<T>;
    const Task task{read<T>(tape, node.in[0]),
                    read<std::int32_t>(tape, node.in[1]),
                    create<T>(tape, id),
                    nullptr,
                    table.extent[1],
                    table.extent[2],
                    tape[node.in[1]].shape.unit(),
                    batch_};
    const auto kernel = scatters ? &rows_kernel<Kind::scatter_own, Task> : &rows_kernel<Kind::gather_own, Task>;
    const std::int64_t threads = scatters ? batch_ * scatter_threads(task.rows, task.width) : elements(node);
    gpu_.whole([&](const Launch& launch) { gpu_.launch(kernel, threads, task, launch.step); });
  }

  template <class T>
  void run_pool(const Tape& tape, int id) {
    const Node& node = tape[id];
    using Task = PoolingTask<T>;
    Task task{};
    for (int k = 0; k < node.op->arity; ++k) task.in[k] = read<T>(tape, node.in[k]);
    task.out = create<T>(tape, id);
    task.form = {recorded_pooling(tape.nodes.data(), node)};
    task.planes = node.shape.product(0, 2) * batch_;
    const auto kernel = is<MaxPool2d>(node)         ? &pooling_kernel<PoolingStep::largest, Task>
                        : is<MaxPool2dSpread>(node) ? &pooling_kernel<PoolingStep::spread, Task>
                                                    : &pooling_kernel<PoolingStep::gather, Task>;
    gpu_.whole([&](const Launch& launch) { gpu_.launch(kernel, elements(node), task, launch.step); });
  }

  /// Returns the most blocks, summed side by side, that the samples of a sum touch; 0: they are summed one after another.
  std::int64_t blocks(const Tape& tape, const Node& sum) const {
    const std::int64_t p = positions(tape, sum);
    if (batch_ * p == 0 || sum.op->kind == Kind::batch_scatter) return 0;
    if (sum.op->kind == Kind::batch_reduce) return block_number(batch_ * p - 1, p) + 2;
    return BlockSplit{sum.shape.unit(), p, size_of(sum.dtype), most_products_in_blocks}
        .blocks(batch_);
  }
  std::int64_t workspace_bytes(const Tape& tape, int sum) const {
    return blocks(tape, tape[sum]) * tape[sum].shape.unit() * size_of(tape[sum].dtype);
  }

  void give_back_workspace() override { workspace_ = {}; }
  void add_samples(const Tape& tape, int sum, const Shadow& shadow, std::int64_t begin, bool last) override {
    with_real(tape[sum], [&](auto t) {
      gpu_.in_window({.batch = batch_, .begin = begin, .first = shadow.is_fresh(), .last = last}, workspace_.storage.data(),
                     [&](const Launch& launch) { start_sum<decltype(t)>(tape, sum, shadow, launch); });
    });
  }
  template <class T>
  void start_sum(const Tape& tape, int sum, const Shadow& shadow, const Launch& launch) {
    const Node& node = tape[sum];
    const Shape& sa = tape[node.in[0]].shape;
    const std::int64_t p = positions(tape, node), side_by_side = blocks(tape, node);
    T *const total = shadow.total().as<T>(), *const open = shadow.open().as<T>();
    const T* const a = read<T>(tape, node.in[0]);
    if (node.op->kind == Kind::batch_scatter) {
      const auto* const index = read<std::int32_t>(tape, node.in[1]);
      const GatherTask<T> task{a, index, total, open, node.shape.extent[0], node.shape.extent[1], p};
      gpu_.launch(&rows_kernel<Kind::batch_scatter, GatherTask<T>>, scatter_threads(task.rows, task.width), task, launch.step);
    } else if (node.op->kind == Kind::batch_reduce) {
      const std::int64_t columns = node.shape.unit();
      T* const chains = reinterpret_cast<T*>(launch.arguments.workspace);
      const T *const made = chains, *const begun = open;
      gpu_.launch(&batch_sum_blocks_kernel<T>, side_by_side * columns, a, begun, chains, columns, p, launch.step);
      launch.stream.launch(&contraction_totals_kernel<T, T>, blocks_for(columns, TotalsTile<T>::columns),
                           TotalsTile<T>::threads, total, open, made, columns, p, launch.step);
    } else if (node.op->kind == Kind::batch_convolve) {
      using Images = Contraction<T, OutputAdjoints<T>, ImagesByTap<T>>;
      const Convolution c = convolution_of(node, sa, tape[node.in[1]].shape);
      const Images images{
          {read<T>(tape, node.in[1]), c}, {a, c}, total, open, c.outputs, c.taps(), p, c.groups, Images::Over::depth};
      start_sum_of_products<largest_tile<T>>(images, side_by_side, launch);
    } else {
      using Rows = Contraction<T, Strided<T>, Strided<T>>;
      const std::int64_t m = node.shape.extent[0], n = node.shape.extent[1];
      const Rows rows{{a, 1, m}, {read<T>(tape, node.in[1]), 1, n}, total, open, m, n, p, 1, Rows::Over::depth};
      start_sum_of_products<largest_tile<T>>(rows, side_by_side, launch);
    }
  }
  void add_open_block(const Tape& tape, int sum, const Shadow& shadow) override {
    const Node& node = tape[sum];
    if (shadow.is_fresh()) device_.clear(shadow.total().data(), gradual::eager::bytes_of(node.shape, 1, node.dtype));
    if (!shadow.has_open()) return;
    with_real(node, [&](auto t) {
      using T = decltype(t);
      gpu_.add(shadow.total().as<T>(), shadow.open().as<const T>(), node.shape.unit());
    });
  }

  void materialise(const Tape& tape, int id) override {
    const Node& node = tape[id];
    refuse_sixteen_bits(tape, id);
    gradual::eager::Storage storage = device_.allocate(gradual::eager::bytes_of(node.shape, batch_, node.dtype));
    with_computed(node.dtype, [&](auto t) {
      using T = decltype(t);
      if (node.op->kind == Kind::uses) {
        gpu_.launch(&uses_kernel<T>, elements(node), read<T>(tape, node.in[0]), read<T>(tape, node.in[1]),
                    storage.as<T>(), tape[node.in[0]].shape.unit(), tape[node.in[1]].shape.unit(), batch_);
      } else {
        MapTask task;
        task.in[0] = operand(tape, id);
        task.out = storage.data();
        task.count = elements(node);
        gpu_.launch(&view_kernel<T>, task.count, task);
      }
    });
    hold(id, std::move(storage));
  }

  EagerDevice<Ops>& gpu_;
  gradual::eager::Workspace workspace_;
};

}  // namespace gradual::cuda

namespace gradual::eager {

template <class Ops>
struct CudaDevices<Ops, void> {
  static constexpr bool included = true;
  /// Errors: DeviceError, NumericsError.
  static std::unique_ptr<Accelerator> make(int index) {
    using Known = std::conditional_t<std::is_void_v<Ops>, OpsFor<void>, Ops>;
    return std::make_unique<cuda::EagerDevice<Known>>(index);
  }
};

}  // namespace gradual::eager
