#pragma once
#include <vector>

#include <gradual/cuda/executor.hpp>
#include <gradual/cuda/numerics.hpp>
#include <gradual/cuda/numerics_check.hpp>

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
/// by cuBLASLt, whose sums have another order (`Numerics`) and are given operands of this precision. Outside of a session's
/// two blocks it takes the bytes of one `cuda::Step` on the device, pinned host memory for one micro-batch, and what
/// cuBLASLt keeps for itself.
template <Numerics How, Precision Used = Precision::float32>
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
  static constexpr bool sums_in_blocks(Kind kind) {
    return Products::template sums_in_blocks<S>(kind);
  }

  class Queue {
   public:
    explicit Queue(int threads) : step_(sizeof(cuda::Step) + sizeof(int)) {
      if (threads != 1) throw OptionError("Session: " + std::to_string(threads) + " threads on a CUDA device");
    }
    /// Gets ready for other addresses. `capacity`: most samples of a micro-batch; `staging`: most bytes that are put
    /// together, or fetched, at once.
    void plan(std::int64_t capacity, std::int64_t staging) {
      stream_.wait();
      recorded_.clear();
      products_.plan();
      pinned_ = cuda::Pinned(staging);
      capacity_ = capacity;
    }

    /// The first run launches kernel after kernel, the second records them, and the others replay what was recorded.
    template <class Program, Phase Which>
    void run(const StepArguments& a) {
      const cuda::Launch launch{stream_, a, reinterpret_cast<const cuda::Step*>(step_.data()), capacity_};
      stream_.launch(&cuda::set<cuda::Step>, 1, 1, reinterpret_cast<cuda::Step*>(step_.data()),
                     cuda::Step{a.batch, a.begin, a.first, a.last, a.random});
      Recorded& recorded = recorded_as(&key<Program, Which>, Which == Phase::backward ? Products::variant(a, capacity_) : 0);
      const auto kernels = [&] { cuda::Executor<Program, Products>::template run<Which>(launch, products_); };
      if (std::exchange(recorded.ran, true)) stream_.replay(recorded.recording, kernels);
      else kernels();
    }

    void write(void* to, const void* host, std::int64_t bytes) const { stream_.copy(to, host, bytes); }
    void read(void* host, const void* from, std::int64_t bytes) const {
      stream_.copy(host, from, bytes);
      stream_.wait();
    }
    void copy(void* to, const void* from, std::int64_t bytes) const { stream_.copy(to, from, bytes); }
    void wait() const { stream_.wait(); }
    void clear(void* to, std::int64_t bytes) const { stream_.clear(to, bytes); }
    template <class W>
    void add(W* to, const float* from, std::int64_t count) const {
      stream_.launch(&cuda::add<W, float>, cuda::blocks_for(count, 256), 256, to, from, count);
    }

    template <class Part>
    void complete(Compensated<Part>* sums, std::int64_t count) const {
      stream_.launch(&cuda::complete_sums<Compensated<Part>>, cuda::blocks_for(count, 256), 256, sums, count);
    }

    template <class T>
    bool all_finite(const T* values, std::int64_t count) const {
      int* const found = reinterpret_cast<int*>(step_.data() + sizeof(cuda::Step));
      stream_.clear(found, sizeof(int));
      stream_.launch(&cuda::find_not_finite<T>, cuda::blocks_for(count, 256), 256, found, values, count);
      int result = 0;
      read(&result, found, sizeof(int));
      return result == 0;
    }

    /// What was staged before has been sent by then: losses were fetched in between.
    std::byte* stage(std::byte* /*to*/, std::int64_t /*bytes*/) const { return pinned_.data(); }
    void send(std::byte* to, std::int64_t bytes) const { stream_.copy(to, pinned_.data(), bytes); }

    void fetch(const float** values, int arrays, std::int64_t count) const {
      float* to = reinterpret_cast<float*>(pinned_.data());
      for (int i = 0; i < arrays; ++i, to += count) stream_.copy(to, std::exchange(values[i], to), count * 4);
      stream_.wait();
    }
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
    Recorded& recorded_as(const char* wanted, int variant) {
      for (Recorded& r : recorded_)
        if (r.key == wanted && r.variant == variant) return r;
      recorded_.push_back({wanted, variant, false, {}});
      return recorded_.back();
    }

    std::int64_t capacity_ = 1;
    Products products_;
    cuda::Stream stream_;
    cuda::Pinned pinned_;
    cuda::Memory step_;  // and behind it a flag
    std::vector<Recorded> recorded_;
  };
};

using Cuda = CudaWith<Numerics::reproducible>;

}  // namespace gradual
