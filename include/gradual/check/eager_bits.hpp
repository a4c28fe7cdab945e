#pragma once
#include <bit>
#include <string>
#include <vector>

#include <gradual/autodiff/reference.hpp>
#include <gradual/eager/executor_on.hpp>

namespace gradual::op_checks {

/// Names the first element of a tape that an eager executor, having run all of it, holds with other bits than the reference;
/// empty if all are equal. Every NaN equals every NaN.
template <class T>
std::string difference(const Tape& tape, eager::Executor& values, const Reference<T>& reference) {
  for (int id = 0; id < tape.size(); ++id) {
    const Tensor got = values.tensor(tape, id).to(Device::cpu());
    const std::vector<T>& expected = reference[id];
    bool same = got.size() == static_cast<std::int64_t>(expected.size());
    std::int64_t i = 0;
    for (; same && i < got.size(); ++i) {
      const auto a = got[i], b = static_cast<double>(expected[static_cast<std::size_t>(i)]);
      same = (a != a && b != b) || std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
    }
    if (!same) return "node " + std::to_string(id) + ", " + tape[id].op->name + "[" + std::to_string(i - 1) + "]";
  }
  return {};
}

/// Runs a finished tape with the inputs `samples` op by op, and compares as above.
template <class T>
std::string difference_when_eager(const Tape& tape, std::int64_t batch, const std::vector<std::vector<T>>& samples,
                                  const Reference<T>& reference) {
  const auto owned = eager::executor_on<OpsFor<void>>(Device::cpu());
  eager::Executor& executor = *owned;
  executor.reset(batch);
  executor.expect(tape.size());
  std::vector<std::vector<std::int32_t>> integers;
  integers.reserve(samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i)
    if (tape.inputs[i].dtype == DType::i32)
      executor.bindings().bind_input(integers.emplace_back(samples[i].begin(), samples[i].end()).data());
    else executor.bindings().bind_input(samples[i].data());
  for (int id = 0; id < tape.size(); ++id) executor.run(tape, id);
  return difference(tape, executor, reference);
}

}  // namespace gradual::op_checks
