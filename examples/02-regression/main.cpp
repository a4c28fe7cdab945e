// Learns to predict the last column of a table of numbers from the others. The statistics that normalise the columns
// are stored in the file beside the parameters. Usage: 02-regression [TABLE.csv]; without a table, it learns to predict
// the number from the pixels of a handwritten digit.
#include <data/digits.hpp>

#include <cmath>
#include <iostream>

#include "model.hpp"

using namespace regression;

namespace {

/// A net between its normalisers: raw rows of the table go in, values on the table's scale come out.
struct Predictor {
  Normalizer input, target;
  Inference<Net> net;
  std::vector<float> operator()(std::span<const float> rows) {
    std::vector<float> x(rows.begin(), rows.end()), result(rows.size() / inputs);
    input.apply(x);
    net(x, result);
    target.undo(result);
    return result;
  }
};

double mean_square(std::span<const float> predicted, std::span<const float> truth) {
  double sum = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const double error = static_cast<double>(predicted[i]) - static_cast<double>(truth[i]);
    sum += error * error;
  }
  return sum / static_cast<double>(truth.size());
}

}  // namespace

int main(int argc, char** argv) try {
  const CsvOptions columns{.columns = inputs + 1};
  Table table = argc > 1 ? read_csv(argv[1], columns) : parse_csv(digits_csv, columns, "digits.csv");
  table.shuffle(0);  // tables are often sorted
  const auto [learned, tested] = table.split(0.8);

  // The normalisers are fitted to the training rows alone: the test rows must stay unseen.
  std::vector<float> x = learned.take(0, inputs), y = learned.take(inputs, inputs + 1);
  const Normalizer input = Normalizer::fit(x, inputs), target = Normalizer::fit(y, 1);
  input.apply(x);
  target.apply(y);
  const std::vector<float> tested_x = tested.take(0, inputs), tested_y = tested.take(inputs, inputs + 1);
  std::vector<float> normal_x = tested_x, normal_y = tested_y;
  input.apply(normal_x);
  target.apply(normal_y);
  const Dataset train(x, y), test(normal_x, normal_y);

  constexpr auto optimizer = Accumulate{AdamW{.learning_rate = 2e-3f, .weight_decay = 0.1f}};
  Trainer trainer(Net{}, optimizer, {.global_batch = 128, .memory_budget = 256_KiB});
  std::cout << table.rows << " rows of " << table.columns << " columns; " << train.size() << " to learn from, "
            << test.size() << " for the test; micro-batches of " << trainer.session().options().micro_batch << ":\n"
            << trainer.memory();
  for (const EpochRecord& epoch : trainer.fit(train, {.epochs = 60, .validate = test}))
    if (const int complete = epoch.epoch + 1; complete % 15 == 0)
      std::printf("epoch %3d  loss %.4f  test loss %.4f\n", complete, epoch.training.loss(), epoch.validation.loss());

  Checkpoint file;
  input.store(file, "input");
  target.store(file, "target");
  trainer.save("regression.safetensors", file);

  Predictor predict{input, target, Inference<Net>(trainer.parameters(), 64)};
  const std::vector<float> predicted = predict(tested_x), trivial(tested_y.size(), target.mean()[0]);
  const double error = mean_square(predicted, tested_y), spread = mean_square(trivial, tested_y);
  std::printf("test RMSE %.3f, with the mean as every prediction %.3f; R2 %.3f\n", std::sqrt(error), std::sqrt(spread),
              1 - error / spread);

  const Checkpoint saved = load("regression.safetensors");
  Predictor again{Normalizer::from(saved, "input"), Normalizer::from(saved, "target"), Inference<Net>(saved, 64)};
  const bool same = std::memcmp(again(tested_x).data(), predicted.data(), predicted.size() * sizeof(float)) == 0;
  std::printf("loaded again from regression.safetensors: predictions %s\n", same ? "equal to the bit" : "DIFFER");
  const double enough = argc > 1 ? 0 : 0.9;  // share of the variance that a successful run explains
  return same && 1 - error / spread > enough ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
