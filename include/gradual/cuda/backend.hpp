#pragma once
#include <cstring>
#include <vector>

#include <gradual/cuda/executor.hpp>
#include <gradual/cuda/host_places.hpp>
#include <gradual/cuda/losses.hpp>
#include <gradual/cuda/numerics.hpp>
#include <gradual/cuda/numerics_check.hpp>
#include <gradual/cuda/one_block.hpp>

namespace gradual {

namespace cuda {

/// Who computes products in these numerics; `gradual/cuda_fast.hpp` has those that are fast.
template <Numerics How, Precision Used>
struct ProductsIn {
  static_assert(How != Numerics::fast, "Numerics::fast: include <gradual/cuda_fast.hpp> and link gradual::cuda_fast");
  static_assert(How != Numerics::reproducible || Used == Precision::float32, "reproducible numerics round no operands");
  using type = CanonicalProducts;
};

}  // namespace cuda

/// Where compiled programs run: an NVIDIA GPU, in canonical order, to the bits of the processor (`Cuda`), or with products
/// by cuBLASLt and convolutions by cuDNN, whose sums have another order (`Numerics`) and are given operands of this precision.
/// Outside of a session's two blocks it takes the bytes of one `cuda::Step` and a number on the device, pinned memory of the
/// host (`MemoryTable::pinned`), and what these libraries keep for themselves.
template <Numerics How, Precision Used = Precision::float32, Launches Launched = Launches::by_size>
struct CudaWith {
  using Products = typename cuda::ProductsIn<How, Used>::type;
  using Memory = cuda::Memory;
  static constexpr bool shares_host_memory = false;

  /// Errors: NumericsError where results would not be the processor's, DeviceError where there is no device.
  static void check_numerics() {
    if (!cuda::device_found()) throw DeviceError("gradual: no CUDA device is found");
    cuda::check_numerics();
  }

  /// Bytes that could still be taken on the device. Errors: DeviceError.
  static std::int64_t free_memory() { return cuda::free_memory(); }

  template <class Program>
  static constexpr std::int64_t workspace_bytes(int /*threads*/, std::int64_t batch) {
    return Products::template workspace_bytes<Program>(batch);
  }
  template <class S>
  static constexpr bool sums_in_blocks(const Node* nodes, const Node& node) {
    return Products::template sums_in_blocks<S>(nodes, node);
  }
  template <class Program, class F>
  static constexpr void for_holding_cuts(F) {}

  /// The most samples of a micro-batch whose training step by program `P` is one launch of one block; 0: none.
  template <class P>
  static constexpr std::int64_t samples_in_one_launch() {
    if constexpr (Launched == Launches::by_size && Products::template all_here<P>())
      return cuda::LaunchesOf<P>::samples();
    else return 0;
  }
  /// Whether what is left at the end of a window, or the whole of an update, is one launch of one block.
  template <class P>
  static constexpr bool ends_in_one_launch() {
    if constexpr (Launched == Launches::by_size && Products::template all_here<P>())
      return cuda::LaunchesOf<P>::end_in_one_block();
    else return false;
  }

  /// Of the host's pinned memory, for so many bytes of samples and of losses in a micro-batch.
  static constexpr std::int64_t pinned_bytes(std::int64_t samples, std::int64_t losses) {
    return cuda::HostPlaces::count * (samples + losses);
  }

  class Queue;
  /// How the kernels of a program, its type forgotten, are launched.
  struct Kernels {
    void (*run[phase_count])(Queue&, const StepArguments&);
    void (*run_part)(Queue&, const StepArguments&, const cuda::Losses&);  ///< null where the program has no loss
    bool all_here;                                                        ///< none is a library's
  };
  template <class Program>
  static constexpr Kernels kernels_of = Queue::template find<Program>();

  class Queue {
   public:
    template <class Program>
    static constexpr Kernels find() {
      Kernels kernels{{&run_phase<Program, Phase::prologue>, &run_phase<Program, Phase::forward>,
                       &run_phase<Program, Phase::backward>, &run_phase<Program, Phase::boundary>},
                      nullptr, Products::template all_here<Program>()};
      if constexpr (Program::count_of(Role::loss) > 0) kernels.run_part = &run_whole<Program>;
      return kernels;
    }

    /// Micro-batches whose samples lie on the device at once.
    static constexpr int places = cuda::HostPlaces::count;

    explicit Queue(int threads) : shared_(sizeof(cuda::Step) + sizeof(cuda::Failed)), failed_(sizeof(cuda::Failed)) {
      if (threads != 1) throw OptionError("Session: " + std::to_string(threads) + " threads on a CUDA device");
      *failed_on_host() = {};
    }
    /// Gets ready for other addresses. `capacity`: most samples of a micro-batch; `samples`, `losses`: most bytes of
    /// those of one.
    void plan(std::int64_t capacity, std::int64_t samples, std::int64_t losses) {
      stream_.wait();
      recorded_.clear();
      products_.plan();
      host_.plan(samples, losses);
      capacity_ = capacity;
    }
    std::int64_t pinned_bytes() const { return host_.bytes(); }

    /// The first run launches kernel after kernel, the second records them, and the others replay what was recorded.
    void run(const Kernels& kernels, Phase which, const StepArguments& a) { kernels.run[static_cast<int>(which)](*this, a); }
    /// The whole of a micro-batch at once: what is made once a window where it begins one, forward, the copy of its
    /// losses (as `fetch`) and backward; one launch in any case. Returns what `wait_for` takes.
    template <class E>
    int run_part(const Kernels& kernels, const StepArguments& a, const E** values, int arrays, std::int64_t unit) {
      const cuda::Losses losses = losses_at(values, arrays, unit);
      kernels.run_part(*this, a, losses);
      return come(values, losses);
    }

    void write(void* to, const void* host, std::int64_t bytes) const {
      if (bytes > cuda::FewBytes::most) return stream_.write(to, host, bytes);
      cuda::FewBytes few;
      std::memcpy(few.value, host, static_cast<std::size_t>(bytes));
      stream_.launch(&cuda::write_few<unsigned char>, 1, 128, static_cast<unsigned char*>(to), few, bytes);
    }
    /// Of cuts that are held as rows, of which there is none.
    void sum_held(const Kernels&, int, const StepArguments&, void*) const {}

    void read(void* host, const void* from, std::int64_t bytes) const {
      stream_.copy(host, from, bytes);
      stream_.wait();
    }
    void copy(void* to, const void* from, std::int64_t bytes) const { stream_.copy(to, from, bytes); }
    void wait() const { stream_.wait(); }
    void clear(void* to, std::int64_t bytes) const { stream_.clear(to, bytes); }
    template <class W, class E>
    void add(W* to, const E* from, std::int64_t count) const {
      stream_.launch(&cuda::add<W, E>, cuda::blocks_for(count, 256), 256, to, from, count);
    }

    template <class Part>
    void complete(Compensated<Part>* sums, std::int64_t count) const {
      stream_.launch(&cuda::complete_sums<Compensated<Part>>, cuda::blocks_for(count, 256), 256, sums, count);
    }

    template <class T>
    bool all_finite(const T* values, std::int64_t count) {
      begin_check(values, count);
      return check_passed();
    }
    /// `work` is asked for before anybody knows, and its kernels leave where something is not finite: the device need
    /// not wait until the host knows. Products of a library would not leave.
    template <class T, class F>
    bool run_if_finite(const Kernels& kernels, const T* values, std::int64_t count, F work) {
      if (!kernels.all_here) {
        if (!all_finite(values, count)) return false;
        work();
        return true;
      }
      begin_check(values, count);
      guard_ = check_;
      try {
        work();
      } catch (...) {
        guard_ = 0;
        throw;
      }
      guard_ = 0;
      return check_passed();
    }

    std::byte* stage(std::byte* /*to*/) const { return host_.next_samples(); }
    std::byte* send(std::byte* to, std::int64_t bytes) { return host_.send(stream_, to, bytes); }

    template <class E>
    int fetch(const E** values, int arrays, std::int64_t unit) {
      const cuda::Losses losses = losses_at(values, arrays, unit);
      copy_losses(losses);
      return come(values, losses);
    }
    void wait_for(int place) const { host_.wait_for_losses(place); }
    template <class T>
    std::vector<T> view(const T* values, std::int64_t count) const {
      std::vector<T> result(static_cast<std::size_t>(count));
      read(result.data(), values, count * static_cast<std::int64_t>(sizeof(T)));
      return result;
    }

   private:
    struct Recorded {
      const char* key;
      int variant;
      bool ran = false;
      cuda::Recording recording;
    };
    template <class Program, Phase Which>
    static constexpr char key = 0;  // its address tells one program's phase from another's
    template <class Program>
    static constexpr char whole = 0;  // and those of all of a micro-batch

    template <class Program, Phase Which>
    static void run_phase(Queue& queue, const StepArguments& a) {
      using Executor = cuda::Executor<Program, Products>;
      if constexpr (Which == Phase::boundary && ends_in_one_launch<Program>()) {
        using End = cuda::OneBlock<Program, cuda::LaunchesOf<Program>::boundary, Program::schedule.group_count>;
        queue.template launch_block<End>(a, {});
      } else if constexpr (Executor::template has_kernels<Which>()) {
        const bool reads_samples = Which == Phase::forward || Which == Phase::backward;
        const int variant = Which == Phase::backward ? Products::variant(a, queue.capacity_) : 0;
        queue.launch(a, &key<Program, Which>, variant * places + (reads_samples ? queue.host_.current() : 0),
                     [&](const cuda::Launch& launch) { Executor::template run<Which>(launch, queue.products_); });
      }
    }
    template <class Program>
    static void run_whole(Queue& queue, const StepArguments& a, const cuda::Losses& losses) {
      using Executor = cuda::Executor<Program, Products>;
      if constexpr (constexpr std::int64_t most = samples_in_one_launch<Program>(); most > 0)
        if (queue.capacity_ <= most)
          return queue.template launch_block<cuda::OneBlock<Program, 0, cuda::LaunchesOf<Program>::boundary>>(a, losses);
      queue.launch(a, &whole<Program>, (Products::variant(a, queue.capacity_) * 2 + a.first) * places + queue.host_.current(),
                   [&](const cuda::Launch& launch) {
                     if (a.first) Executor::template run<Phase::prologue>(launch, queue.products_);
                     Executor::template run<Phase::forward>(launch, queue.products_);
                     queue.copy_losses(losses);
                     Executor::template run<Phase::backward>(launch, queue.products_);
                   });
    }

    static cuda::Step step_of(const StepArguments& a) { return {a.batch, a.begin, a.first, a.last, false, a.random}; }
    template <class Block>
    void launch_block(const StepArguments& a, const cuda::Losses& losses) const {
      stream_.launch(&cuda::one_block_kernel<Block, typename Block::Tasks>, 1, cuda::block_threads, Block::tasks(a),
                     losses, step_of(a), static_cast<const cuda::Failed*>(failed_here()), guard_);
    }
    template <class Work>
    void launch(const StepArguments& a, const char* wanted, int variant, Work work) {
      const cuda::OnDevice here(stream_.device());  // a library's work, too
      stream_.launch(&cuda::set_step<cuda::Step>, 1, 1, step(), step_of(a),
                     static_cast<const cuda::Failed*>(failed_here()), guard_);
      const cuda::Launch launch{stream_, a, step(), capacity_};
      Recorded& recorded = recorded_as(wanted, variant);
      if (recorded.ran) return stream_.replay(recorded.recording, [&] { work(launch); });
      work(launch);
      recorded.ran = true;
    }

    template <class E>
    cuda::Losses losses_at(const E** values, int arrays, std::int64_t unit) const {
      cuda::Losses losses{{}, host_.losses(), arrays, unit, unit * capacity_, std::is_same_v<E, double>};
      for (int i = 0; i < arrays; ++i) losses.from[i] = values[i];
      return losses;
    }
    void copy_losses(const cuda::Losses& losses) const {
      stream_.launch(&cuda::copy_losses<cuda::Losses>, cuda::blocks_for(losses.stride, 256), 256, losses,
                     static_cast<const cuda::Step*>(step()));
    }
    template <class E>
    int come(const E** values, const cuda::Losses& losses) {
      host_.losses_asked(stream_);
      for (int i = 0; i < losses.arrays; ++i) values[i] = reinterpret_cast<const E*>(losses.to) + i * losses.stride;
      return host_.current();
    }

    template <class T>
    void begin_check(const T* values, std::int64_t count) {
      ++check_;
      stream_.launch(&cuda::find_not_finite<T>, cuda::blocks_for(count, 256), 256, failed_here(), failed_on_host(),
                     values, count, check_);
      stream_.record(checked_);
    }
    bool check_passed() const {
      checked_.wait();
      return failed_on_host()->check != check_;
    }

    Recorded& recorded_as(const char* wanted, int variant) {
      for (Recorded& r : recorded_)
        if (r.key == wanted && r.variant == variant) return r;
      recorded_.push_back({wanted, variant, false, {}});
      return recorded_.back();
    }

    cuda::Step* step() const { return reinterpret_cast<cuda::Step*>(shared_.data()); }
    cuda::Failed* failed_here() const { return reinterpret_cast<cuda::Failed*>(shared_.data() + sizeof(cuda::Step)); }
    cuda::Failed* failed_on_host() const { return reinterpret_cast<cuda::Failed*>(failed_.data()); }

    std::int64_t capacity_ = 1, check_ = 0, guard_ = 0;  // guard_: of the check on which kernels depend; 0: on none
    Products products_;
    cuda::Memory shared_;  // what kernels are told
    cuda::Pinned failed_;
    cuda::HostPlaces host_;
    cuda::Event checked_;
    std::vector<Recorded> recorded_;
    cuda::Stream stream_;
  };
};

using Cuda = CudaWith<Numerics::reproducible>;

}  // namespace gradual
