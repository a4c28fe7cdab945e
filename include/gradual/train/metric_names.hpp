#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <gradual/autodiff/loss.hpp>
#include <gradual/core/error.hpp>

namespace gradual::detail {

/// Of the metrics beside the loss that was recorded last.
class MetricNames {
 public:
  void remember(const Loss& loss) {
    names_.clear();
    for (int i = 0; i < loss.metric_count; ++i) names_.push_back(loss.metrics[i].name);
  }
  /// Errors: OptionError for a name that none has.
  int find(std::string_view name) const {
    std::string others;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (names_[i].view() == name) return static_cast<int>(i);
      others += (i == 0 ? "'" : ", '") + names_[i].string() + "'";
    }
    throw OptionError("no metric is named '" + std::string(name) + "'; " +
                      (others.empty() ? "none has been recorded so far" : "there are " + others));
  }

 private:
  std::vector<Name> names_;
};

}  // namespace gradual::detail
