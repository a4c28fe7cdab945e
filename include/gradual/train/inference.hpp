#pragma once
#include <cstring>
#include <memory>

#include <gradual/train/parameters_file.hpp>
#include <gradual/train/compiled.hpp>
#include <gradual/train/validate.hpp>

namespace gradual {

namespace detail {
template <class P>
struct InputsOf;
template <class Trace>
struct InputsOf<Program<Trace>> {
  using type = typename Trace::InputTypes;
};
}  // namespace detail

template <class Net, class In = typename detail::InputsOf<typename Net::Prediction>::type>
class Inference;

/// The forward pass of a trained net, with its own, smaller plan. T: what the model's `predict` takes, of the net's first
/// inputs as many as it has arguments. Weights are shared between copies; each copy has its own workspace, so give every
/// thread a copy.
template <class Net, class... T>
class Inference<Net, Inputs<T...>> {
  using P = typename Net::Prediction;
  using Real = typename Net::Real;
  static constexpr std::int64_t real_bytes = sizeof(Real);
  using Backend = typename Net::Backend;
  using Memory = typename Backend::Memory;
  using Layout = InferenceLayout<Net>;
  static constexpr int prediction = P::root(Role::prediction);
  static constexpr std::int64_t width = P::graph.nodes[prediction].shape.unit();
  static constexpr int stored = P::schedule.storage[prediction];
  static constexpr bool copies = P::graph.nodes[stored].op->kind == Kind::input;  // which no kernel writes
  template <class X>
  using Span = std::span<const std::remove_all_extents_t<X>>;

 public:
  /// Copies the parameters of `source`, in the order of their declaration; plans for batches of up to `batch`. Errors:
  /// DataError, MemoryError; NumericsError.
  [[gnu::cold]] explicit Inference(std::span<const Real> parameters, std::int64_t batch = 1)
      : Inference(copied(parameters), batch, true) {}
  /// Takes the parameters from a file's tensors by name. Errors: FileError naming what is missing or has another shape.
  [[gnu::cold]] explicit Inference(const Checkpoint& file, std::int64_t batch = 1) : Inference(read(file), batch, true) {}
  [[gnu::cold]] Inference(const Inference& other) : Inference(other.weights_, other.batch_, false) {}

  /// Takes other parameters, such as those of a session that has learned meanwhile. Copies keep theirs; nothing is allocated
  /// where there are none. Errors: DataError; MemoryError.
  void set_parameters(std::span<const Real> parameters) {
    check_parameters(parameters);
    if (weights_.use_count() > 1) {
      share(copied(parameters));
    } else {
      std::shared_ptr<const Memory>(weights_).reset();  // a count orders nothing, letting go comes after others' last reads
      queue_.write(weights_->data(), parameters.data(), Net::parameter_elements * real_bytes);
    }
    derive();
  }

  /// Shares the parameters of another one from now on, as a copy of it does. Nothing is allocated. Neither may run meanwhile.
  void set_parameters(const Inference& other) { share(other.weights_); }

  /// in: any number of samples; out: one prediction of `output_width` values for each.
  /// Errors: DataError for spans that do not fit each other, indices outside a table, or values that are not finite.
  void operator()(Span<T>... in, std::span<Real> out) {
    const std::int64_t count = validate<P, T...>(in...);
    if (static_cast<std::int64_t>(out.size()) != count * width)
      throw DataError("inference: " + std::to_string(count) + " samples need " + std::to_string(count * width) +
                      " outputs, got " + std::to_string(out.size()));
    for (std::int64_t done = 0; done < count; done += batch_) run(out, done, std::min(batch_, count - done), in...);
  }
  static constexpr std::int64_t output_width() { return width; }

 private:
  /// `fresh`: what is derived from the weights has not been made yet; other copies may be reading it otherwise.
  [[gnu::cold]] Inference(std::shared_ptr<const Memory> weights, std::int64_t batch, bool fresh)
      : weights_(std::move(weights)), batch_(batch), transient_(Layout::table(batch).transient()), queue_(1) {
    queue_.plan(batch, 0, 0);
    std::int64_t offset[P::nodes + 1]{};
    P::plan.offsets(batch, offset);
    for (int i = 0; i < P::nodes; ++i)
      if (const int life = P::plan.lifetime_of[i]; life >= 0)
        address_[i] = transient_.data() + Layout::staged_bytes(batch) + offset[life];
    find_weights();
    if (fresh) derive();
  }

  void share(std::shared_ptr<const Memory> weights) {
    weights_ = std::move(weights);
    find_weights();
    queue_.plan(batch_, 0, 0);  // forgets what was recorded with the others' places
  }
  void find_weights() {
    std::byte* next = weights_->data() + aligned(Net::parameter_elements * real_bytes);
    for (int i = 0; i < P::nodes; ++i) {
      const Node& node = P::graph.nodes[i];
      if (is_input(node, Input::parameter))
        address_[i] = weights_->data() + Net::parameter_offset(static_cast<int>(node.attributes.integer[0])) * real_bytes;
      else if (P::tables.is_derived(i))
        address_[i] = std::exchange(next, next + P::tables.node_bytes(i));
    }
  }
  /// What is made of the weights alone.
  void derive() {
    queue_.run(Backend::template kernels_of<P>, Phase::prologue, arguments_for(0));
    queue_.wait();  // copies have queues of their own
  }

  StepArguments arguments_for(std::int64_t samples) const {
    StepArguments arguments;
    arguments.address = address_;
    arguments.workspace = transient_.data() + Layout::staged_bytes(batch_) + P::plan.bytes(batch_);
    arguments.batch = samples;
    return arguments;
  }

  static void check_parameters(std::span<const Real> parameters) {
    if (static_cast<std::int64_t>(parameters.size()) != Net::parameter_elements)
      detail::refuse_parameters("inference", Net::parameter_elements, parameters.size());
  }
  [[gnu::cold]] static std::shared_ptr<const Memory> copied(std::span<const Real> parameters) {
    check_parameters(parameters);
    Backend::check_numerics();
    return or_memory_error("an inference", [&] {
      auto memory = std::make_shared<Memory>(Layout::table(1).persistent());
      const typename Backend::Queue queue(1);
      queue.write(memory->data(), parameters.data(), Net::parameter_elements * real_bytes);
      queue.wait();
      return memory;
    });
  }
  [[gnu::cold]] static std::shared_ptr<const Memory> read(const Checkpoint& file) {
    return or_memory_error("an inference", [&] {
      std::vector<Real> parameters(static_cast<std::size_t>(Net::parameter_elements));
      load_parameters(file, ParametersView<Net>(parameters.data()));
      return copied(parameters);
    });
  }

  void run(std::span<Real> out, std::int64_t first, std::int64_t part, Span<T>... in) {
    const void* from[] = {in.data() + first * detail::sample_shape<T>().unit()...};
    Real* to = out.data() + first * width;
    if constexpr (!Backend::shares_host_memory) {
      constexpr std::int64_t bytes[] = {detail::sample_shape<T>().unit() *
                                        std::int64_t{sizeof(std::remove_all_extents_t<T>)}...};
      std::byte* next = transient_.data();
      for (std::size_t i = 0; i < sizeof...(T); ++i) {
        queue_.write(next, from[i], part * bytes[i]);
        from[i] = std::exchange(next, next + aligned(batch_ * bytes[i]));
      }
      to = reinterpret_cast<Real*>(next);
    }
    for (std::size_t i = 0; i < sizeof...(T); ++i)
      if (const int node = P::input_nodes[i]; node >= 0) address_[node] = const_cast<void*>(from[i]);
    if constexpr (!copies) address_[stored] = to;
    queue_.run(Backend::template kernels_of<P>, Phase::forward, arguments_for(part));
    if constexpr (!Backend::shares_host_memory)
      queue_.read(out.data() + first * width, copies ? address_[stored] : to, part * width * real_bytes);
    else if constexpr (copies) std::memcpy(to, address_[stored], static_cast<std::size_t>(part * width * real_bytes));
  }

  std::shared_ptr<const Memory> weights_;
  std::int64_t batch_;
  Memory transient_;
  typename Backend::Queue queue_;
  void* address_[P::nodes > 0 ? P::nodes : 1]{};
};

}  // namespace gradual
