// The memory that training a convolutional net needs, by the usual formula and by the plan, and why they differ. Nothing is
// allocated: all of it is known at compile time.
#include <cstdio>

#include "model.hpp"

using namespace spectrogram;

namespace {

constexpr auto optimizer = Accumulate{Sgd{.momentum = 0.9f}};
constexpr MemoryTable plan = Net::training_memory(optimizer, batch, {.gather = true});  // as a Trainer plans

// The formula: each layer's outputs and their gradients, all at once; parameters, their gradients, their momentum; inputs.
constexpr std::int64_t outputs = 180 * 50 * 32 + 90 * 25 * 32 + 90 * 25 * 64 + 45 * 12 * 64 + 550 + 10;
constexpr std::int64_t by_hand_activations = outputs * 2 * batch * 4, by_hand_parameters = Net::parameter_elements * 3 * 4,
                       by_hand_inputs = height * width * batch * 4;

double mebibytes(std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

void row(const char* what, std::int64_t by_hand, std::int64_t planned, const char* why) {
  std::printf("%-24s %10.2f %10.2f%s%s\n", what, mebibytes(by_hand), mebibytes(planned), *why == 0 ? "" : "   ", why);
}

}  // namespace

int main() {
  std::printf("A net of %lld parameters with %lld layer outputs per sample, images of %lld x %lld, batch %lld, momentum\n\n",
              static_cast<long long>(Net::parameter_elements), static_cast<long long>(outputs), static_cast<long long>(height),
              static_cast<long long>(width), static_cast<long long>(batch));
  std::printf("%-24s %10s %10s\n", "MiB", "by hand", "planned");
  row("parameters", by_hand_parameters / 3, plan.parameters, "");
  row("gradients", by_hand_parameters / 3, plan.gradients + plan.open_blocks,
      "and 128 samples end on a block: only vectors have room for an open one");
  row("momentum", by_hand_parameters / 3, plan.optimizer_state, "");
  row("inputs", by_hand_inputs, plan.inputs, "and labels; a Session reads yours where they lie");
  row("outputs and gradients", by_hand_activations, plan.activations,
      "of gradients only those are alive that are still read");
  row("workspace", 0, plan.workspace + plan.derived, "one image under every tap, sums side by side");
  row("total", by_hand_activations + by_hand_parameters + by_hand_inputs, plan.total(), "");
  const MemoryTable small = Net::training_memory(optimizer, 8, {.gather = true});
  std::printf("\nIn micro-batches of 8, to the same bits: %.2f MiB. Of 512 MiB, the largest that fits is %lld.\n",
              mebibytes(small.total()), static_cast<long long>(Net::largest_batch(optimizer, 512_MiB, {.gather = true}).batch));
}
