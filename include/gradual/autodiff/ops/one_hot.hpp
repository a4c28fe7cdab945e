#pragma once
#include <gradual/autodiff/ops/labels.hpp>
#include <gradual/autodiff/ops/with_index.hpp>

namespace gradual {

/// Returns 1 at the place that an index names, 0 elsewhere: int32 [batch, ...], an input or an argmax, becomes [batch, ...,
/// count] in the type of parameters. The index `ignored`, which lies outside `count`, gives zeros only. Errors: no places; an
/// `ignored` among them; those of `cross_entropy`.
constexpr Var one_hot(Var index, std::int64_t count, std::int64_t ignored = LabelRange::none) {
  if (!detail::given("one_hot", {index})) return {};
  Shape wide = index.shape();
  if (count < 1 || wide.rank >= max_rank || (ignored >= 0 && ignored < count))
    return index.tape->fail(Message() << "one_hot: an index " << wide << " cannot be expanded to " << count << " places"
                                      << (ignored >= 0 && ignored < count ? ": the ignored one must be outside" : ""), {index});
  if (!detail::takes_labels("one_hot", index, index, count, ignored, LabelRange::Of::place)) return {};
  wide.extent[wide.rank++] = count;
  return detail::is_at(wide, index, -1);
}

}  // namespace gradual
