// Samples are sent and losses come back while kernels compute: whether kernels, copies or both are late, each micro-batch
// reads its own samples and the host its losses.
#include <gradual/cuda.hpp>

#include <gtest/gtest.h>

#include <numeric>

namespace host_places_test {

using namespace gradual;

constexpr std::int64_t samples = (1 << 14) + 64;  // more than kernels fetch themselves
constexpr std::int64_t bytes = samples * std::int64_t{sizeof(float)};
constexpr int rounds = 40, parts = 6;

GRADUAL_HD float slowly(float x) {
  float sum = 0;
  for (int i = 0; i < rounds; ++i) sum = x + sum / 2;  // copies could overtake it
  return sum;
}
template <class T>
GRADUAL_KERNEL void compute(const T* values, T* results, std::int64_t count) {
  for (std::int64_t i = cuda::global_thread(); i < count; i += cuda::global_threads()) results[i] = slowly(values[i]);
}

/// Kernels that read samples sent by the host. The twin's streams work at once or late, as told; a device's cannot be told.
class Sending {
 public:
  Sending([[maybe_unused]] bool late_copies, [[maybe_unused]] bool late_kernels)
      : memory_((2 + parts) * bytes + std::int64_t{sizeof(cuda::Step)}),
        host_(make<cuda::HostPlaces>(late_copies)),
        kernels_(make<cuda::Stream>(late_kernels)) {
    host_.plan(bytes, bytes);
    cuda::Step whole;
    whole.batch = samples;
    kernels_.launch(&cuda::set_step<cuda::Step>, 1, 1, step(), whole);
  }
  std::int64_t pinned_bytes() const { return host_.bytes(); }

  void compute_part(int part) {
    std::fill_n(reinterpret_cast<float*>(host_.stage(kernels_, memory_.data())), samples, static_cast<float>(part));
    host_.staged(0, bytes);
    const auto* const x = reinterpret_cast<const float*>(host_.send(kernels_));
    kernels_.launch(&compute<float>, 32, 128, x, result(part), samples);
  }
  const float* fetch(int part) {
    kernels_.launch(&cuda::copy_losses<cuda::Losses>, 32, 128,
                    cuda::Losses{{result(part)}, host_.losses(), 1, 1, samples},
                    static_cast<const cuda::Step*>(step()));
    host_.losses_asked(kernels_);
    place_[part] = host_.current();
    return reinterpret_cast<const float*>(host_.losses());
  }
  void expect(int part, const float* losses) const {
    host_.wait_for_losses(place_[part]);
    EXPECT_EQ(std::accumulate(losses, losses + samples, 0.0), double{slowly(static_cast<float>(part))} * samples)
        << part;
  }

 private:
  template <class T>
  static T make([[maybe_unused]] bool late) {
#if defined(GRADUAL_CUDA_TWIN)
    cuda::twin_works_late = late;
#endif
    return T();
  }
  float* result(int part) const { return reinterpret_cast<float*>(memory_.data() + (2 + part) * bytes); }
  cuda::Step* step() const { return reinterpret_cast<cuda::Step*>(memory_.data() + (2 + parts) * bytes); }

  int place_[parts]{};
  cuda::Memory memory_;
  cuda::HostPlaces host_;
  cuda::Stream kernels_;
};

template <class F>
void for_streams(F f) {
  if (!cuda::device_found()) GTEST_SKIP() << "skipped: no CUDA device";
  for (const bool copies : {false, true})
    for (const bool kernels : {false, true}) {
      Sending sending(copies, kernels);
      f(sending);
    }
}

TEST(HostPlaces, LossesComeWhileTheNextPartIsComputed) {
  for_streams([](Sending& sending) {
    EXPECT_EQ(sending.pinned_bytes(), 2 * (bytes + bytes));
    const float* before = nullptr;
    for (int part = 0; part < parts; ++part) {
      sending.compute_part(part);
      const float* const losses = sending.fetch(part);
      if (part > 0) sending.expect(part - 1, before);
      before = losses;
    }
    sending.expect(parts - 1, before);
  });
}

TEST(HostPlaces, SamplesOvertakeNobodyWhoReadsThem) {
  for_streams([](Sending& sending) {
    for (int part = 0; part < parts; ++part) sending.compute_part(part);
    for (int part = 0; part < parts; ++part) sending.expect(part, sending.fetch(part));
  });
}

}  // namespace host_places_test
