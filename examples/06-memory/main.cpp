// The memory of a net, seen before it is trained. Usage: 06-memory [--timeline | --fastest]
//   --timeline  draws what lies where in a training step, as an SVG picture on standard output
//   --fastest   measures which micro-batch is fast on this machine
#include <iostream>

#include "model.hpp"

using namespace digits;

namespace {

constexpr std::int64_t picture_batch = 512;
using Saving = Net::Keeping<50>;

}  // namespace

int main(int argc, char** argv) try {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (argc == 2 && mode == "--timeline") {
    std::cout << timeline_svg<Saving>(optimizer, picture_batch, {.gather = true});
  } else if (argc == 2 && mode == "--fastest") {
    std::cout << fastest_micro_batch(Net{}, optimizer, {.global_batch = 1024});
  } else if (argc == 1) {
    std::cout << "micro-batches of " << picture_batch << ":\n"
              << Net::training_memory(optimizer, picture_batch, {.gather = true});
    std::cout << "the same, half of the activations kept:\n"
              << Saving::training_memory(optimizer, picture_batch, {.gather = true});
  } else {
    std::cerr << "usage: " << argv[0] << " [--timeline | --fastest]\n";
    return 2;
  }
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
