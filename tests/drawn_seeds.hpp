#pragma once
// The seeds of tests of random things: those of a corpus, and fresh ones in every run.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

/// Returns 0 to `corpus` − 1, followed by `fresh` others: from a random one on, or from that in GRADUAL_SEED. Prints them.
inline std::vector<std::uint64_t> drawn_seeds(const char* of, int corpus, int fresh) {
  const char* given = std::getenv("GRADUAL_SEED");
  std::random_device device;
  const std::uint64_t first = given != nullptr ? std::strtoull(given, nullptr, 10) : std::uint64_t{device()} << 20;
  std::printf("swept: %d random %s of the corpus, %d from seed %llu on\n", corpus, of, fresh,
              static_cast<unsigned long long>(first));
  std::vector<std::uint64_t> seeds;
  for (int i = 0; i < corpus; ++i) seeds.push_back(static_cast<std::uint64_t>(i));
  for (int i = 0; i < fresh; ++i) seeds.push_back(first + static_cast<std::uint64_t>(i));
  return seeds;
}
