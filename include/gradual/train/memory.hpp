#pragma once
#include <cstdint>
#include <string>
#include <type_traits>

#include <gradual/core/error.hpp>
#include <gradual/optim/accumulate.hpp>

namespace gradual {

/// A session's memory in bytes, by category. Each category lies in one of two blocks.
struct MemoryTable {
  std::int64_t parameters = 0, gradients = 0, open_blocks = 0, optimizer_state = 0, derived = 0, undo = 0,
               noise = 0;                                                                           // persistent
  std::int64_t inputs = 0, activations = 0, update = 0, workspace = 0;                              // transient
  std::int64_t pinned = 0;  // host memory, beside the two blocks, where these lie on a device
  constexpr std::int64_t persistent() const {
    return parameters + gradients + open_blocks + optimizer_state + derived + undo + noise;
  }
  /// Activations and the temporaries of an update are never alive together and share their memory.
  constexpr std::int64_t transient() const { return inputs + (activations > update ? activations : update) + workspace; }
  constexpr std::int64_t total() const { return persistent() + transient(); }
};

constexpr std::int64_t operator""_KiB(unsigned long long n) { return static_cast<std::int64_t>(n) * 1024; }
constexpr std::int64_t operator""_MiB(unsigned long long n) { return static_cast<std::int64_t>(n) * 1024 * 1024; }

/// Whether the unfinished blocks of weight gradients get memory: always, or only where the planned micro-batch ends inside a
/// block. Without it, every micro-batch must end on a block or with its window.
enum class OpenBlocks : unsigned char { as_needed, always };

/// Optional data that a window keeps beside its sums.
struct WindowExtras {
  bool undo = false;             ///< keeps its sums from before a micro-batch, so that it can be undone
  std::int64_t noise_batch = 0;  ///< keeps its gradient from before the last batch of this size to measure noise; 0: off
};

/// The choices in a session's layout that are made when it is constructed or planned again.
struct LayoutChoice {
  std::int64_t micro_batch = 0;
  bool open_blocks = false;  ///< whether the unfinished blocks of products have memory
  int threads = 1;
  WindowExtras extras = {};
};

/// The choices that a session's memory depends on apart from its net, its optimizer and its micro-batch.
struct Planning {
  OpenBlocks open_blocks = OpenBlocks::as_needed;
  int threads = 1;
  bool gather = false;  ///< copies samples together from anywhere in a data set, as a trainer does
  std::int64_t frozen = 0;  ///< number of frozen parameter elements
  WindowExtras extras = {};
};

/// The largest batch that fits a budget, with proof: one more sample needs more bytes, and so does every larger batch.
struct LargestBatch {
  std::int64_t batch = 0, bytes = 0, bytes_for_one_more = 0;
};

namespace detail {
/// Errors: OptionError for no thread, or more than any machine would gain from; `by` names the class.
constexpr void check_threads(int threads, const char* by = "Session") {
  constexpr int most = 1024;
  if (threads < 1 || threads > most)
    throw OptionError(std::string(by) + ": " + std::to_string(threads) + " threads; 1 to " + std::to_string(most) +
                      " are possible");
}
/// Errors: OptionError for options that no session of a net with `elements` parameter elements could have.
constexpr void check_planning(const Planning& planning, std::int64_t elements) {
  check_threads(planning.threads, "Planning");
  if (planning.frozen < 0 || planning.frozen > elements)
    throw OptionError("Planning: " + std::to_string(planning.frozen) + " of " + std::to_string(elements) +
                      " parameter elements frozen");
  if (planning.extras.noise_batch < 0)
    throw OptionError("Planning: a noise_batch of " + std::to_string(planning.extras.noise_batch) + " samples");
}

template <class Real, ShadowType S>
struct ShadowInReal {
  static_assert(std::is_same_v<Real, float> || !is_compensated<S>, "a net in double keeps sums in double, not in pairs");
  using type = std::conditional_t<std::is_same_v<Real, float>, S, double>;
};
}  // namespace detail

/// The type that holds the sums of a net's windows: that given to `Accumulate`, or double where the parameters are double.
template <class Net, class Optimizer>
using ShadowFor = typename detail::ShadowInReal<typename Net::Real, ShadowOf<Optimizer>>::type;

}  // namespace gradual
