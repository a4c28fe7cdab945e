#pragma once
#include <gradual/train/eager_state.hpp>

#include <charconv>
#include <string>

namespace gradual::detail {

inline std::string sum_place(const char* what, std::size_t sums, std::size_t sum) {
  return "window/" + std::string(what) + "/" + exact_text(sums) + "/" + exact_text(sum);
}

/// Copies a tensor of `words` values to the device; −1: of any number, which it writes there. Errors: FileError.
inline eager::Storage stored_sum(const Device& device, const StoredTensor& tensor, std::int64_t& words) {
  const auto count = static_cast<std::int64_t>(tensor.values.size());
  if (words >= 0 && words != count)
    throw FileError("a window's open block of " + exact_text(count) + " values does not fit its " + exact_text(words) +
                    " sums");
  words = count;
  eager::Storage copy = device.allocate(count * 4, Category::gradients);
  device.copy(copy.data(), tensor.values.data(), count * 4);
  return copy;
}

GRADUAL_ONCE std::vector<float> fetched(const Device& device, const void* from, std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  device.read(values.data(), from, count * 4);
  return values;
}

GRADUAL_ONCE void add_sums(Checkpoint& file, const std::vector<eager::BegunSums>& all, const Device& device) {
  for (std::size_t s = 0; s < all.size(); ++s) {
    std::string note = exact_text(all[s].computation);
    for (std::size_t sum = 0; sum < all[s].shadows.size(); ++sum) {
      const eager::Shadow& shadow = all[s].shadows[sum];
      note += ' ' + exact_text(shadow.is_fresh() ? std::int64_t{-1} : shadow.open_end());
      const auto values = [&](const eager::Storage& from) {
        return StoredTensor{{all[s].words[sum]}, fetched(device, from.data(), all[s].words[sum])};
      };
      if (!shadow.is_fresh()) file.add(sum_place("sum", s, sum), values(shadow.total()));
      if (shadow.has_open()) file.add(sum_place("open", s, sum), values(shadow.open()));
    }
    file.notes["window/" + exact_text(s)] = note;
  }
}

GRADUAL_ONCE std::vector<eager::BegunSums> sums_in(const Checkpoint& file, const Device& device) {
  std::vector<eager::BegunSums> all;
  for (std::size_t s = 0; s == 0 || file.notes.contains("window/" + exact_text(s)); ++s) {
    const std::string& note = file.note("window/" + exact_text(s));
    const char *at = note.data(), *const end = at + note.size();
    const auto take = [&](auto& number) {
      const auto [last, error] = std::from_chars(at, end, number);
      at = last;
      if (error != std::errc{} || (at != end && *at != ' '))
        throw FileError("the file's note 'window/" + exact_text(s) + "' cannot be '" + note + "'");
    };
    eager::BegunSums& sums = all.emplace_back();
    take(sums.computation);
    while (at != end) {
      std::int64_t open_end = 0;
      ++at;
      take(open_end);
      const std::size_t sum = sums.shadows.size();
      sums.shadows.emplace_back();
      sums.words.push_back(-1);
      if (open_end < 0) continue;
      eager::Storage total = stored_sum(device, file.tensor(sum_place("sum", s, sum)), sums.words[sum]), open;
      if (open_end > 0) open = stored_sum(device, file.tensor(sum_place("open", s, sum)), sums.words[sum]);
      sums.shadows.back() = {std::move(total), std::move(open), open_end};
    }
  }
  return all;
}

}  // namespace gradual::detail
