// The memory of a net, seen before it is trained: bytes for each micro-batch, and the ways to train it in a budget.
// Usage: 06-memory [BYTES | --timeline | --fastest]
//   BYTES       the budget; 2200 KiB where none is given
//   --timeline  draws what lies where in a training step, as an SVG picture on standard output
//   --fastest   measures which micro-batch is fast on this machine
#include <charconv>
#include <iostream>

#include "model.hpp"

using namespace digits;

namespace {

constexpr Planning as_trainer{.gather = true};

void print_plan(Budget budget) {
  constexpr std::int64_t micro_batches[] = {1, 8, 64, 128, 512}, windows[] = {64, 256, 1024};
  std::cout << "bytes of a session\n" << memory_by_batch<Net>(optimizer, micro_batches, as_trainer);
  std::cout << "\nways to train in " << budget.bytes << " B\n"
            << ways_to_train(Net::KeepingOneOf<100, 85, 70, 50>{}, optimizer, budget, windows, as_trainer);
}

/// The bytes that a text names, or −1.
std::int64_t bytes_of(const std::string& text) {
  std::int64_t bytes = -1;
  const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  return error == std::errc{} && last == text.data() + text.size() ? bytes : -1;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string mode = argc > 1 ? argv[1] : std::to_string(2200_KiB);
  if (argc <= 2 && bytes_of(mode) >= 0) {
    print_plan(bytes_of(mode));
  } else if (argc == 2 && mode == "--timeline") {
    std::cout << timeline_svg<Net::Keeping<50>>(optimizer, 512, as_trainer);
  } else if (argc == 2 && mode == "--fastest") {
    std::cout << fastest_micro_batch(Net{}, optimizer, {.global_batch = 1024});
  } else {
    std::cerr << "usage: " << argv[0] << " [BYTES | --timeline | --fastest]\n";
    return 2;
  }
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
