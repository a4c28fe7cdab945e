// The memory that a net needs, known before it is trained: bytes for each micro-batch, and the ways to train it in a budget.
// Usage: 07-memory [BYTES | --timeline | --fastest | --changing | --trace FILE]
//   BYTES       the budget; 2200 KiB by default
//   --timeline  draws which values lie where in memory during a training step, as an SVG picture on standard output
//   --fastest   measures which micro-batch is fastest on this machine
//   --changing  trains on handwritten digits while two thirds of its memory is taken away and given back, twice
//   --trace     trains on handwritten digits in the default budget and writes a trace of the run for ui.perfetto.dev
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <data/digits.hpp>
#include <iostream>

#include "model.hpp"

using namespace deep;

namespace {

constexpr Planning as_trainer{.gather = true};
constexpr Budget default_budget = 2200_KiB;

void print_plan(Budget budget) {
  std::cout << "bytes of a session\n" << memory_by_batch<Net>(optimizer, {1, 8, 64, 128, 512}, as_trainer);
  std::cout << "\nfor what the window's sums are held in\n" << memory_by_shadow<Net>(optimizer, 64, as_trainer);
  std::cout << "\nways to train in " << budget.bytes << " B\n"
            << ways_to_train(Net::KeepingOneOf<100, 85, 70, 50>{}, optimizer, budget, {64, 256, 1024}, as_trainer);
}

struct Digits {
  std::vector<float> images;
  std::vector<std::int32_t> labels;
  Digits() {
    const Table table = parse_csv(digits_csv, {.columns = 65}, "digits.csv");
    for (std::int64_t row = 0; row < table.rows; ++row) {
      const float* values = table.values.data() + row * 65;
      for (int i = 0; i < 64; ++i) images.push_back(values[i] / 16);
      labels.push_back(static_cast<std::int32_t>(values[64]));
    }
  }
};

/// Prints the micro-batches over time. Returns whether the result equals that of an undisturbed run, to the bit.
bool train_in_changing_budgets() {
  const Digits digits;
  const Dataset data(digits.images, digits.labels);
  const TrainerOptions options{.global_batch = 1024, .open_blocks = OpenBlocks::always, .seed = 1};
  Trainer undisturbed(Net{}, optimizer, options), trainer(Net{}, optimizer, options);
  undisturbed.fit(data, {.epochs = 6, .progress = Progress::never});

  const std::int64_t plenty = trainer.memory().total();
  std::int64_t seen = 0;
  std::size_t changes = 0;
  std::cout << " sample  of the window    budget  micro-batch  all its bytes\n";
  const auto print = [&](std::int64_t budget) {
    std::printf("%7lld %14lld %9lld %12lld %14lld\n", static_cast<long long>(seen),
                static_cast<long long>(trainer.session().position()), static_cast<long long>(budget),
                static_cast<long long>(trainer.session().options().micro_batch),
                static_cast<long long>(trainer.memory().total()));
  };
  const auto change = [&](std::int64_t samples) {
    constexpr std::int64_t places[] = {1500, 4000, 6500, 9000};
    seen += samples;
    if (changes == std::size(places) || seen < places[changes]) return;
    const std::int64_t budget = changes++ % 2 == 0 ? plenty / 3 : plenty;
    trainer.set_budget(budget);
    print(budget);
  };
  print(plenty);
  trainer.fit(data, {.epochs = 6, .progress = Progress::never, .on_micro_batch = change});

  const auto same = [](auto a, auto b) { return std::ranges::equal(a, b); };
  const bool equal =
      same(undisturbed.session().parameter_bytes(), trainer.session().parameter_bytes()) &&
      same(undisturbed.session().optimizer_state_bytes(), trainer.session().optimizer_state_bytes());
  std::cout << "parameters and optimizer state " << (equal ? "equal" : "DIFFER from")
            << " those of a run that nobody disturbed" << (equal ? ", to the bit\n" : "\n");
  return equal;
}

void train_and_trace(const std::string& path) {
  const Digits digits;
  const Dataset data(digits.images, digits.labels);
  Trainer trainer(Net::KeepingOneOf<100, 85>{}, optimizer, {.global_batch = 256, .memory_budget = default_budget});
  TraceFile trace;
  const History history = trainer.fit(data, trace.following(trainer, {.epochs = 5}));
  trace.save(path);
  std::cout << "kept " << trainer.way().kept << "%, micro-batches of " << trainer.way().micro_batch << ", accuracy "
            << history.back().training.metric(0) << "; " << path << " opens in https://ui.perfetto.dev\n";
}

/// Returns the number of bytes that `text` gives, or −1 if it is not an integer.
std::int64_t bytes_of(const std::string& text) {
  std::int64_t bytes = -1;
  const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  return error == std::errc{} && last == text.data() + text.size() ? bytes : -1;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string mode = argc > 1 ? argv[1] : std::to_string(default_budget.bytes);
  if (argc <= 2 && bytes_of(mode) >= 0) {
    print_plan(bytes_of(mode));
  } else if (argc == 2 && mode == "--timeline") {
    std::cout << timeline_svg<Net::Keeping<50>>(optimizer, 512, as_trainer);
  } else if (argc == 2 && mode == "--fastest") {
    std::cout << fastest_micro_batch(Net{}, optimizer, {.global_batch = 1024});
  } else if (argc == 2 && mode == "--changing") {
    return train_in_changing_budgets() ? 0 : 1;
  } else if (argc == 3 && mode == "--trace") {
    train_and_trace(argv[2]);
  } else {
    std::cerr << "usage: " << argv[0] << " [BYTES | --timeline | --fastest | --changing | --trace FILE]\n";
    return 2;
  }
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
