#pragma once
#include <gradual/core/grouped.hpp>
#include <gradual/train/svg.hpp>
#include <gradual/train/timeline.hpp>

namespace gradual {

namespace detail {

/// Draws a timeline: persistent and transient bytes to one scale, then the transient block over the kernels of a step,
/// each buffer where it lies, then the bytes alive.
class TimelinePicture {
 public:
  explicit TimelinePicture(const Timeline& timeline);
  std::string finished() const { return svg_.finished(); }

 private:
  static constexpr double width = 1000, height = 830;
  static constexpr double left = 66, right = 976, top = 204, bottom = 590;  // of the block
  static constexpr double alive_top = 622, alive_bottom = 692;
  static constexpr double phase_size = 10;
  static constexpr const char* grey = "#6b7683";

  struct Style {
    const char *fill, *ink, *name;
  };
  static Style style(Holds holds);

  std::int64_t block() const { return std::max<std::int64_t>(t_.table.transient(), 1); }
  double kernel_width() const;
  double x(int kernel) const { return left + kernel * kernel_width(); }
  double y(std::int64_t offset) const;
  static std::string bytes(std::int64_t n) { return grouped(n) + " B"; }

  void draw_totals();
  void draw_legend();
  void draw_phases();

  /// Round numbers of KiB, at most eight.
  void draw_scale();
  static std::string scaled(std::int64_t n);

  void draw_bars();
  /// The most that there is room for: in two lines, in one, or the layer alone.
  void label(const TimelineBar& bar, const std::string& name, double at, double wide, double from, double high);

  void draw_bound();

  /// Bytes that each kernel finds alive, whatever their places.
  void draw_alive();

  /// Under each kernel its name, where there is room; else under each few.
  void draw_kernels();

  const Timeline& t_;
  Svg svg_;
};

}  // namespace detail

/// The memory of a training step as an SVG picture: what stays and what comes and goes, to one scale; each buffer of
/// the transient block as a bar over the kernels in which it is alive, at its place, with its layer and op; the bytes
/// alive, and the least that any plan could do. Errors: as `training_memory`.
template <class Net, class Optimizer>
[[gnu::cold]] std::string timeline_svg(const Optimizer&, std::int64_t batch, const Planning& planning = {}) {
  const TrainingLayout<Net, RuleOf<Optimizer>, ShadowFor<Net, Optimizer>> layout(
      batch, 0, planning.open_blocks, planning.threads, planning.extras);
  return detail::TimelinePicture(detail::Timeline::of(layout, planning.gather, planning.frozen)).finished();
}

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/train/timeline_svg.ipp>
#endif
