#pragma once
// Shared by the tests of the documents' code: the model of the README's first example, and data of its sizes. Together
// these tests contain every line of the documents that is in no other test or example
// (`Documents.HaveOnlyCodeThatIsCompiled`).
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "models.hpp"

namespace documented {

using namespace gradual;

// Computed before tests change the working directory.
inline const std::filesystem::path root = std::filesystem::absolute(__FILE__).parent_path() / "..";

struct Mlp {
  nn::Linear hidden, output;
  constexpr explicit Mlp(Scope s)
      : hidden(s / "hidden", 64, 128, init::kaiming_uniform(64)), output(s / "output", 128, 10) {}

  constexpr Var predict(Var x) const { return output(relu(hidden(x))); }
  constexpr Loss loss(Var x, Var label) const {
    Var scores = predict(x);
    return {cross_entropy(scores, label), metric("accuracy", argmax(scores) == label)};
  }
};
using Net = Compiled<Mlp, Inputs<f32[64], i32>>;
constexpr auto optimizer = Accumulate{Adam{.learning_rate = 5e-3f}};

/// Selects the bytes planned for this CPU: wider vectors have larger tiles, which pack more. The documents quote AVX-512.
constexpr std::int64_t planned([[maybe_unused]] std::int64_t avx512, [[maybe_unused]] std::int64_t avx2,
                               [[maybe_unused]] std::int64_t neon) {
#if defined(__AVX512F__)
  return avx512;
#elif defined(__AVX2__)
  return avx2;
#else
  return neon;
#endif
}

/// Data of the digits' sizes, and a working directory of its own.
struct Documented : testing::Test {
  const std::filesystem::path before = std::filesystem::current_path(),
                              folder = before / ("gradual_documented_" + std::to_string(::getpid()));
  Documented() {
    std::filesystem::create_directory(folder);
    std::filesystem::current_path(folder);
  }
  ~Documented() override {
    std::filesystem::current_path(before);
    std::filesystem::remove_all(folder);
  }
  std::vector<float> images = models::numbers(640 * 64);
  std::vector<std::int32_t> labels = models::labels(640, 10);
};

}  // namespace documented
