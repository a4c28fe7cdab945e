#pragma once
#include <span>
#include <string_view>

#include <gradual/autodiff/loss.hpp>
#include <gradual/core/error.hpp>
#include <gradual/core/no_such_name.hpp>

namespace gradual {

namespace detail {
/// Not constexpr: if a constant asks for a metric that does not exist, compilers name this function and the existing metrics.
template <Message ThereAre>
int no_metric_has_this_name(std::string_view name);
}  // namespace detail

/// The names of a loss's metrics, in their order.
class MetricNames {
 public:
  constexpr MetricNames() = default;
  constexpr explicit MetricNames(const Loss& loss) : count_(loss.metric_count) {
    for (int i = 0; i < count_; ++i) names_[i] = loss.metrics[i].name;
  }

  constexpr std::span<const Name> all() const { return {names_, static_cast<std::size_t>(count_)}; }
  /// Returns the index of the first metric of that name, or −1.
  constexpr int find(std::string_view name) const {
    for (int i = 0; i < count_; ++i)
      if (names_[i].view() == name) return i;
    return -1;
  }
  constexpr Message there_are() const {
    Message text = count_ == 0 ? "there are none" : "there are";
    for (int i = 0; i < count_; ++i) text << (i == 0 ? " '" : ", '") << names_[i].view() << "'";
    return text;
  }
  /// Returns the index of the metric of that name. Errors: OptionError if there is none.
  int at(std::string_view name) const {
    if (const int found = find(name); found >= 0) return found;
    throw OptionError(detail::no_such_name("metric", name, all(), [](const Name& other) { return other.view(); }));
  }

 private:
  Name names_[max_metrics];
  int count_ = 0;
};

}  // namespace gradual
