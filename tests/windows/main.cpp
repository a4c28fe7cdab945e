// Trains on two threads, saves under a name beyond ASCII, replaces the file, loads it, and provokes the errors of files. Run on
// Windows and elsewhere, it must leave equal files.
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <gradual/core/free_memory.hpp>
#include <gradual/core/process_usage.hpp>
#include <gradual/core/system_memory.hpp>
#include <gradual/gradual.hpp>
using namespace gradual;

namespace {

struct Net {
  nn::Linear hidden, head;
  constexpr explicit Net(Scope s) : hidden(s / "hidden", 2, 48), head(s / "head", 48, 1) {}
  constexpr Var predict(Var x) const { return head(tanh(hidden(x))); }
  constexpr Loss loss(Var x, Var y) const { return mse(predict(x), y); }
};
using Wave = Compiled<Net, Inputs<f32[2], f32[1]>>;

int failures = 0;

void expect(bool holds, const char* what) {
  if (holds) return;
  ++failures;
  std::printf("failed: %s\n", what);
}

template <class F>
void expect_error(F f, const std::string& start) {
  try {
    f();
    expect(false, ("no error: " + start).c_str());
  } catch (const FileError& error) {
    expect(std::string(error.what()).starts_with(start), (start + ", but: " + error.what()).c_str());
  }
}

}  // namespace

int main() {
  std::vector<float> x, y;
  for (int i = 0; i < 256; ++i) {
    x.push_back(0.01f * static_cast<float>(i)), x.push_back(1 - 0.02f * static_cast<float>(i % 50));
    y.push_back(x[x.size() - 2] * x.back());
  }
  Session session(Wave{}, Accumulate{Adam{.learning_rate = 1e-2f}}, {.global_batch = 64, .micro_batch = 17, .threads = 2});
  save_parameters("netz-\xC3\xBC.safetensors", session.parameters());
  for (int epoch = 0; epoch < 20; ++epoch) session.accumulate(x, y);
  save_parameters("netz-\xC3\xBC.safetensors", session.parameters());
  Inference<Wave> infer(load("netz-\xC3\xBC.safetensors"));
  std::vector<float> loaded(y.size());
  infer(x, loaded);
  expect(loaded == session.predict(x), "a net that is loaded answers as before");

  expect_error([] { (void)load("none.safetensors"); }, "none.safetensors: cannot be opened: No such file or directory");
  expect_error([] { (void)load("."); }, ".: ");
  expect_error([&] { save_parameters("no-folder/net.safetensors", session.parameters()); }, "no-folder/net.safetensors: ");
  expect_error([&] { save_parameters(".", session.parameters()); }, ".: cannot be replaced: is not a regular file");
#if defined(_WIN32)
  expect_error([] { (void)load("\xFF.safetensors"); }, "\xFF.safetensors: is not UTF-8, as paths are on Windows");
  const int scanned = detail::open_file("netz-\xC3\xBC.safetensors", detail::to_read);
  std::jthread scanner([scanned] {  // as virus scanners do
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ::close(scanned);
  });
  save_parameters("netz-\xC3\xBC.safetensors", session.parameters());
#endif

  const SystemMemory memory = system_memory();
  expect(free_memory() > 0 && free_memory() <= memory.capacity, "the free memory is within the system's");
  expect(memory.free > 0 && memory.others > 0, "the system reports its memory");
  expect(process_usage().resident > 0 && process_usage().resident < memory.capacity, "this process is in memory");
  expect(process_usage().cpu_seconds > 0, "this process has taken time");
  return failures;
}
