// What a stream records and replays: kernels alone, or a library's work too. While recording, the twin refuses what a device
// would not do, or would do once but not replay.
#include <gradual/cuda.hpp>

#include <gtest/gtest.h>

#include <stdexcept>

namespace recordings_test {

using namespace gradual;

TEST(Recordings, AreReplayedAsTheyWereMade) {
  if (!cuda::device_found()) GTEST_SKIP() << "skipped: no CUDA device";
  for (const bool kernels_alone : {false, true}) {
    const cuda::Memory memory(2 * sizeof(float));
    float* const sum = reinterpret_cast<float*>(memory.data());
    const cuda::Stream stream;
    const float begin[] = {0, 1};
    stream.write(sum, begin, sizeof(begin));
    const auto add = [&](std::int64_t count) {
      stream.launch(&cuda::add<float, float>, 1, 32, sum, static_cast<const float*>(sum + 1), count);
    };
    add(0);  // kernels are loaded before they are recorded, as in sessions
    cuda::Recording recording;
    int made = 0;
    for (int i = 0; i < 3; ++i)
      stream.replay(recording, kernels_alone, [&] {
        ++made;
        add(1);
        if (!kernels_alone) stream.copy(sum + 1, sum, sizeof(float));
      });
    float got[2];
    stream.copy(got, sum, sizeof(got));
    stream.wait();
    EXPECT_EQ(made, 1);
    EXPECT_EQ(got[0], kernels_alone ? 3 : 4);
  }
}

#if defined(GRADUAL_CUDA_TWIN)
TEST(Recordings, TakeNothingThatADeviceWouldNot) {
  const cuda::Memory memory(2 * sizeof(float));
  std::byte* const at = memory.data();
  const float number = 1;
  for (const bool kernels_alone : {false, true}) {
    const auto refused = [&](auto f) {
      const cuda::Stream stream;
      cuda::Recording recording;
      try {
        stream.replay(recording, kernels_alone, [&] { f(stream); });
      } catch (const std::logic_error&) {
        stream.wait();  // which is allowed again
        return true;
      }
      return false;
    };
    EXPECT_EQ(refused([&](const cuda::Stream& stream) { stream.copy(at, at + 4, 4); }), kernels_alone);
    EXPECT_EQ(refused([&](const cuda::Stream& stream) { stream.clear(at, 4); }), kernels_alone);
    cuda::Event event;
    EXPECT_TRUE(refused([&](const cuda::Stream& stream) { stream.write(at, &number, 4); }));
    EXPECT_TRUE(refused([&](const cuda::Stream& stream) { stream.record(event); }));
    EXPECT_TRUE(refused([&](const cuda::Stream& stream) { stream.wait_for(event); }));
    EXPECT_TRUE(refused([&](const cuda::Stream& stream) { stream.wait(); }));
    EXPECT_EQ(refused([&](const cuda::Stream&) { event.wait(); }), !kernels_alone);
    EXPECT_EQ(refused([&](const cuda::Stream&) { const cuda::Memory more(4); }), !kernels_alone);
    EXPECT_EQ(refused([&](const cuda::Stream&) { const cuda::Pinned more(4); }), !kernels_alone);
  }
}
#endif

}  // namespace recordings_test
