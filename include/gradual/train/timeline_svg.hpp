#pragma once
#include <string>

#include <gradual/train/timeline.hpp>

namespace gradual {

namespace detail {

/// Draws a timeline: persistent and transient bytes to one scale, then the transient block over the kernels of a step, with
/// each buffer in its place, then the bytes alive.
std::string picture_of(const Timeline& timeline);

}  // namespace detail

/// Returns the memory of a training step as an SVG picture: persistent and transient bytes, to one scale; each buffer of the
/// transient block as a bar over the kernels in which it is alive, in its place, with its layer and op; the bytes alive, and
/// the least that any plan could achieve. Errors: as `training_memory`.
template <class Net, class Optimizer>
std::string timeline_svg(const Optimizer&, std::int64_t batch, const Planning& planning = {}) {
  const TrainingLayout<Net, RuleOf<Optimizer>, ShadowFor<Net, Optimizer>> layout(
      batch, 0, planning.open_blocks, planning.threads, planning.extras);
  return detail::picture_of(detail::Timeline::of(layout, planning.gather, planning.frozen));
}

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/train/timeline_svg.ipp>
#endif
