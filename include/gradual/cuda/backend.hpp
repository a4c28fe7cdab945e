#pragma once
#include <span>
#include <vector>

#include <gradual/core/set_while.hpp>
#include <gradual/cuda/device_samples.hpp>
#include <gradual/cuda/executor.hpp>
#include <gradual/cuda/host_places.hpp>
#include <gradual/cuda/losses.hpp>
#include <gradual/cuda/numerics.hpp>
#include <gradual/cuda/numerics_check.hpp>
#include <gradual/cuda/one_cluster.hpp>

namespace gradual {

namespace cuda {

/// The class that computes products in these numerics; `gradual/cuda_fast.hpp` has the fast ones.
template <Numerics How, Precision Used>
struct ProductsIn {
  static_assert(How != Numerics::fast, "Numerics::fast: include <gradual/cuda_fast.hpp> and link gradual::cuda_fast");
  static_assert(How != Numerics::reproducible || Used == Precision::float32, "reproducible numerics round no operands");
  using type = CanonicalProducts;
};

}  // namespace cuda

/// The backend that runs compiled programs on an NVIDIA GPU: in canonical order, to the bits of the processor (`Cuda`), or with
/// products by cuBLASLt and convolutions by cuDNN, which sum in another order (`Numerics`) and round operands to this
/// precision. Besides a session's two blocks it takes the bytes of one `cuda::Heard` on the device, pinned host memory
/// (`MemoryTable::pinned`, places for 32 `cuda::Order`, 16 bytes for reports), and what these libraries allocate for
/// themselves.
template <Numerics How, Precision Used = Precision::float32, Launches Launched = Launches::by_size>
struct CudaWith {
  using Products = typename cuda::ProductsIn<How, Used>::type;
  using Memory = cuda::Memory;
  static constexpr bool shares_host_memory = false;

  /// Errors: NumericsError where results would differ from the processor's, DeviceError where there is no device.
  static void check_numerics() {
    cuda::require_device();
    cuda::check_numerics();
  }

  /// Returns the bytes of the device for further sessions. Errors: DeviceError.
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
  static constexpr void for_held_sums(F) {}

  /// Returns the most samples of a micro-batch that program `P` trains on in one launch of one cluster; 0: none.
  template <class P>
  static constexpr std::int64_t samples_in_one_launch() {
    if constexpr (Launched == Launches::by_size) return cuda::LaunchesOf<P>::samples();
    else return 0;
  }
  /// Whether the work at the end of a window, or a whole update, is one launch of one cluster.
  template <class P>
  static constexpr bool ends_in_one_launch() {
    if constexpr (Launched == Launches::by_size && Products::template all_here<P>())
      return cuda::LaunchesOf<P>::end_in_one_cluster();
    else return false;
  }

  /// Returns the bytes of pinned host memory for so many bytes of samples and of losses in a micro-batch.
  static constexpr std::int64_t pinned_bytes(std::int64_t samples, std::int64_t losses) {
    return cuda::HostPlaces::count * (samples + losses);
  }

  class Queue;
  /// The type-erased launches of a program's kernels.
  struct Kernels {
    void (*run[phase_count])(Queue&, const StepArguments&);
    void (*run_part)(Queue&, const StepArguments&, const cuda::Losses&);  ///< null where the program has no loss
    bool all_here;                                                        ///< none of its work is a library's
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

    /// The number of micro-batches whose samples are on the device at once.
    static constexpr int places = cuda::HostPlaces::count;

    explicit Queue(int threads) : said_(sizeof(Said)) {
      if (threads != 1)
        throw OptionError("Session: " + std::to_string(threads) + " threads on a CUDA device, where .threads must be 1");
      *said() = {};
    }
    /// Returns a scope in which the queue's device is current.
    cuda::OnDevice on_device() const { return cuda::OnDevice(stream_.device()); }
    /// Prepares for other addresses. `capacity`: the most samples of a micro-batch; `samples`, `losses`: the most bytes of its
    /// inputs and of its losses.
    void plan(std::int64_t capacity, std::int64_t samples, std::int64_t losses) {
      stream_.wait();
      recorded_.clear();
      products_.plan();
      host_.plan(samples, losses);
      capacity_ = capacity;
    }
    std::int64_t pinned_bytes() const { return host_.bytes(); }

    /// Runs the kernels of one phase, as `launch` does.
    void run(const Kernels& kernels, Phase which, const StepArguments& a) { kernels.run[static_cast<int>(which)](*this, a); }
    /// Runs a whole micro-batch as one launch: the prologue where it begins a window, forward, the copy of its losses (as
    /// `fetch`) and backward. Returns the argument for `wait_for`.
    template <class E>
    int run_part(const Kernels& kernels, const StepArguments& a, const E** values, int arrays, std::int64_t unit) {
      cuda::Losses losses = losses_at(values, arrays, unit);
      losses.lost = &orders_.here()->lost;
      kernels.run_part(*this, a, losses);
      return come(values, losses);
    }

    /// `from`: host memory, or device memory as it is after the work on the default stream.
    void write(void* to, const void* from, std::int64_t bytes) const {
      behind_others(from);
      stream_.write(to, from, bytes);
    }
    /// Writes a few bytes that only kernels of programs read, before the next ones run.
    void tell(void* to, const void* host, std::int64_t bytes) {
      if (orders_.take(to, host, bytes)) return;
      give_order({}, false, [](auto begin) { begin(); });
      if (!orders_.take(to, host, bytes)) write(to, host, bytes);
    }
    /// For sums whose unfinished blocks are kept as rows: there are none here.
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
      return check_around(values, count, false, [] {}, [] {});
    }
    /// `work` is queued before the result is known, and its kernels do nothing if a value is not finite, so that the device
    /// need not wait for the host. Library products would run regardless: with them, `work` waits for the result.
    template <class T, class F>
    bool run_if_finite(const Kernels& kernels, const T* values, std::int64_t count, F work) {
      if (kernels.all_here) return check_around(values, count, false, work, [] {});
      if (!all_finite(values, count)) return false;
      work();
      return true;
    }
    /// The same where the losses of all parts since the window began must be finite, too; they reach the host in `meanwhile`.
    template <class T, class F, class G>
    bool run_if_finite_with_losses(const T* values, std::int64_t count, F work, G meanwhile) {
      return check_around(values, count, true, work, meanwhile);
    }

    std::byte* stage(std::byte* to) { return host_.stage(stream_, to); }
    void put(std::int64_t at, const void* from, std::int64_t bytes) { host_.put(stream_, at, from, bytes); }
    /// Notes that bytes [begin, end) of the samples were assembled.
    void staged(std::int64_t begin, std::int64_t end) { host_.staged(begin, end); }
    /// Sends all samples that were put or assembled. Returns their address on the device.
    std::byte* send() { return host_.send(stream_); }
    void forget_staged() { host_.forget_staged(); }

    /// Whether samples lie in the device's own memory. Errors: DataError for another device's.
    bool holds(const void* samples) const { return stream_.holds(samples); }
    /// Checks such samples, after the work on the default stream.
    template <class T>
    void look_at(std::span<const T> values, std::span<const LabelRange> ranges, int input) const {
      const cuda::Stream& copies = host_.copies();
      const auto find_unfit = [&](auto range) {  // not for bytes: all values fit
        copies.launch(&cuda::find_unfit<T>, cuda::blocks_for(std::ssize(values), 256), 256, values.data(), std::ssize(values),
                      range, &said()->unfit);
      };
      if constexpr (std::is_same_v<T, std::int32_t>) {
        for (const LabelRange& range : ranges)
          if (range.input == input) find_unfit(range);
      } else if constexpr (!std::is_same_v<T, std::uint8_t>) {
        find_unfit(LabelRange{});
      }
    }
    /// Whether all samples checked since the last call can be learned from.
    bool all_fit() const {
      host_.wait_for_copies();
      return !std::exchange(said()->unfit, false);
    }
    /// Makes accesses to device memory wait for the work on the default stream.
    void behind_others(const void* at) const {
      if (holds(at)) stream_.wait_for_default(others_);
    }
    /// Announces that some of the samples being staged are rows in device memory, which `gather` assembles.
    void leave_to_device() { host_.leave_to_device(stream_); }
    /// Assembles samples from rows in device memory. `rows`: on the device, since `send`.
    void gather(std::byte* to, const void* from, const std::int32_t* rows, std::int64_t count, std::int64_t bytes) const {
      const auto fits = [&](std::size_t word) {
        return (reinterpret_cast<std::uintptr_t>(from) | static_cast<std::uintptr_t>(bytes)) % word == 0;
      };
      if (fits(sizeof(cuda::FourWords))) gather_words<cuda::FourWords>(to, from, rows, count, bytes);
      else if (fits(sizeof(std::uint32_t))) gather_words<std::uint32_t>(to, from, rows, count, bytes);
      else if (fits(sizeof(std::uint16_t))) gather_words<std::uint16_t>(to, from, rows, count, bytes);
      else gather_words<std::uint8_t>(to, from, rows, count, bytes);
    }

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
    static constexpr char key = 0;  // its address identifies a phase of a program
    template <class Program>
    static constexpr char whole = 0;  // and the whole of a micro-batch

    template <class Program, Phase Which>
    static void run_phase(Queue& queue, const StepArguments& a) {
      using Executor = cuda::Executor<Program, Products>;
      if constexpr (Which == Phase::boundary && ends_in_one_launch<Program>()) {
        using End = cuda::OneCluster<Program, Products, cuda::LaunchesOf<Program>::boundary, Program::schedule.group_count>;
        queue.launch(a, &key<Program, Which>, 0, true, [&](const cuda::Launch& launch) { End::run(launch, {}); });
      } else if constexpr (Executor::template has_kernels<Which>()) {
        const bool reads_samples = Which == Phase::forward || Which == Phase::backward;
        const int variant = Which == Phase::backward ? Products::variant(a, queue.capacity_) : 0;
        queue.launch(a, &key<Program, Which>, variant * places + (reads_samples ? queue.host_.current() : 0),
                     Products::template all_here<Program>(),
                     [&](const cuda::Launch& launch) { Executor::template run<Which>(launch, queue.products_); });
      }
    }
    template <class Program>
    static void run_whole(Queue& queue, const StepArguments& a, const cuda::Losses& losses) {
      using Executor = cuda::Executor<Program, Products>;
      if constexpr (constexpr std::int64_t most = samples_in_one_launch<Program>(); most > 0) {
        using Whole = cuda::OneCluster<Program, Products, 0, cuda::LaunchesOf<Program>::boundary>;
        if (queue.capacity_ <= most)
          return queue.launch(a, &whole<Program>, queue.host_.current(), true,
                              [&](const cuda::Launch& launch) { Whole::run(launch, losses); }, a.first);
      }
      queue.launch(a, &whole<Program>, (Products::variant(a, queue.capacity_) * 2 + a.first) * places + queue.host_.current(),
                   Products::template all_here<Program>(), [&](const cuda::Launch& launch) {
                     if (a.first) Executor::template run<Phase::prologue>(launch, queue.products_);
                     Executor::template run<Phase::forward>(launch, queue.products_);
                     queue.copy_losses(losses);
                     Executor::template run<Phase::backward>(launch, queue.products_);
                   }, a.first);
    }

    static cuda::Step step_of(const StepArguments& a) { return {a.batch, a.begin, a.first, a.last, false, a.random}; }
    /// Launches a program's kernels, after their orders and the work that they depend on: the first time one by one, the second
    /// time as a new recording, and then as a replay.
    template <class Work>
    void launch(const StepArguments& a, const char* wanted, int variant, bool kernels_alone, Work work, bool begins = false) {
      const cuda::OnDevice here(stream_.device());  // for library work, too
      const cuda::Launch launch{stream_, a, orders_.step(), capacity_};
      const int check = to_check_.count == 0 ? 0 : to_check_.losses ? 2 : 1;
      const int brings = host_.few().bytes > 0 ? 1 + host_.current() : 0;  // which place samples are brought from; 0: none
      Recorded& recorded = recorded_as(wanted, (variant * 3 + check) * (1 + places) + brings);
      give_order(step_of(a), begins, [&](auto begin) {
        const auto all = [&] {
          begin();
          work(launch);
        };
        if (recorded.ran) return stream_.replay(recorded.recording, kernels_alone, all);
        all();
        recorded.ran = true;
      });
    }
    template <class F>
    void give_order(const cuda::Step& step, bool begins, F launch) {
      const bool few = to_check_.count <= cuda::few_to_check;
      orders_.give(stream_, step, guard_, begins, host_.few(), few ? to_check_ : cuda::Check{}, [&](auto read) {
        launch([&] {
          read();
          if (!few)
            stream_.launch(&cuda::find_not_finite<cuda::Heard>, cuda::blocks_for(to_check_.count, 256), 256, to_check_,
                           orders_.here());
          if (to_check_.count > 0) stream_.record_within(checked_);
        });
      });
      to_check_ = {};
      host_.few_asked(stream_);
    }

    template <class E>
    cuda::Losses losses_at(const E** values, int arrays, std::int64_t unit) const {
      cuda::Losses losses{{}, host_.losses(), arrays, unit, unit * capacity_, std::is_same_v<E, double>};
      for (int i = 0; i < arrays; ++i) losses.from[i] = values[i];
      return losses;
    }
    void copy_losses(const cuda::Losses& losses) const {
      stream_.launch(&cuda::copy_losses<cuda::Losses>, cuda::blocks_for(losses.stride, 256), 256, losses, orders_.step());
    }
    template <class E>
    int come(const E** values, const cuda::Losses& losses) {
      host_.losses_asked(stream_);
      for (int i = 0; i < losses.arrays; ++i) values[i] = reinterpret_cast<const E*>(losses.to) + i * losses.stride;
      return host_.current();
    }

    /// Whether values are finite. The work of `work` runs after the check, in kernels that do nothing where that fails.
    template <class T, class F, class G>
    bool check_around(const T* values, std::int64_t count, bool losses, F work, G meanwhile) {
      {
        const SetWhile<std::int64_t> guard(guard_, ++check_);
        const SetWhile<cuda::Check> to_check(to_check_, cuda::Check::of(values, count, losses, &said()->failed));
        work();
        if (to_check_.count > 0) give_order({}, false, [](auto begin) { begin(); });
      }
      meanwhile();
      checked_.wait();
      return said()->failed != check_;
    }

    Recorded& recorded_as(const char* wanted, int variant) {
      for (Recorded& r : recorded_)
        if (r.key == wanted && r.variant == variant) return r;
      recorded_.push_back({wanted, variant, false, {}});
      return recorded_.back();
    }

    template <class Word>
    void gather_words(std::byte* to, const void* from, const std::int32_t* rows, std::int64_t count, std::int64_t bytes) const {
      const std::int64_t width = bytes / std::int64_t{sizeof(Word)};
      stream_.launch(&cuda::gather_rows<Word>, cuda::blocks_for(count * width, 256), 256, static_cast<const Word*>(from), rows,
                     reinterpret_cast<Word*>(to), count, width);
    }

    /// What kernels report to the host.
    struct Said {
      std::int64_t failed = 0;  ///< the number of the last check that failed
      bool unfit = false;       ///< a checked sample is unfit
    };
    Said* said() const { return reinterpret_cast<Said*>(said_.data()); }

    std::int64_t capacity_ = 1, check_ = 0, guard_ = 0;  // guard_: the check on which kernels depend; 0: none
    cuda::Check to_check_;  // to be made before the next kernels
    Products products_;
    cuda::Pinned said_;
    cuda::Orders orders_;
    cuda::HostPlaces host_;
    cuda::Event checked_;
    mutable cuda::Event others_;  // the work on the default stream
    std::vector<Recorded> recorded_;
    cuda::Stream stream_;
  };
};

using Cuda = CudaWith<Numerics::reproducible>;

}  // namespace gradual
