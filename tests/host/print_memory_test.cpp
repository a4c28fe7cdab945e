// The printed memory table: every category with its bytes, empty ones left out, and the larger of those that share memory.
#include <gtest/gtest.h>

#include <sstream>

#include <gradual/train/print_memory.hpp>

namespace print_memory_test {

using namespace gradual;

std::string printed(const MemoryTable& table) {
  std::ostringstream text;
  text << table;
  return text.str();
}

TEST(PrintMemory, EveryCategory) {
  const MemoryTable table{.parameters = 37'184,
                          .gradients = 37'185,
                          .open_blocks = 1'000'000,
                          .optimizer_state = 2,
                          .derived = 64,
                          .undo = 128,
                          .noise = 192,
                          .inputs = 8'192,
                          .activations = 70'000,
                          .update = 69'999,
                          .workspace = 7,
                          .pinned = 12'345'678'901};
  EXPECT_EQ(printed(table),
            "  parameters                  37 184 B\n"
            "  gradients                   37 185 B  (shadow buffers of the window)\n"
            "  open blocks              1 000 000 B  (unfinished sums between micro-batches)\n"
            "  optimizer state                  2 B\n"
            "  derived                         64 B  (made once per window)\n"
            "  undo                           128 B  (the window's sums before a micro-batch)\n"
            "  noise                          192 B  (the window's gradient before a small batch)\n"
            "  inputs                       8 192 B\n"
            "  activations                 70 000 B  (shared with temporaries)\n"
            "  workspace                        7 B\n"
            "  total                    1 152 954 B\n"
            "  pinned              12 345 678 901 B  (of the host's memory, beside the total)\n");
}

TEST(PrintMemory, LeavesOutWhatIsEmptyAndPrintsTheLargerOfWhatShares) {
  EXPECT_EQ(printed({.parameters = 64, .activations = 128, .update = 1'024}),
            "  parameters                      64 B\n"
            "  activations                  1 024 B  (shared with temporaries)\n"
            "  total                        1 088 B\n");
}

}  // namespace print_memory_test
