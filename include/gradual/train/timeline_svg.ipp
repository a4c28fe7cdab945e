#pragma once
#include <gradual/train/timeline_svg.hpp>

#include <cstdio>

#include <gradual/core/number_text.hpp>
#include <gradual/train/svg.hpp>

namespace gradual::detail {

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

  /// Draws at most eight round numbers of KiB.
  void draw_scale();
  static std::string scaled(std::int64_t n);

  void draw_bars();
  /// Draws as much as fits: layer and op in two lines, in one, or the layer alone.
  void label(const TimelineBar& bar, const std::string& name, double at, double wide, double from, double high);

  void draw_bound();

  /// Draws the bytes that are alive in each kernel, wherever they lie.
  void draw_alive();

  /// Writes each kernel's name below it, where there is room; otherwise those of every few.
  void draw_kernels();

  const Timeline& t_;
  Svg svg_;
};

inline TimelinePicture::TimelinePicture(const Timeline& timeline) : t_(timeline), svg_(width, height) {
  draw_totals();
  draw_legend();
  draw_phases();
  draw_scale();
  draw_bars();
  draw_bound();
  draw_alive();
  draw_kernels();
}

inline TimelinePicture::Style TimelinePicture::style(Holds holds) {
  static constexpr Style styles[] = {
      {"#aab4bf", "#24292f", "inputs"},        {"#2563a8", "#ffffff", "kept for backward"},
      {"#9cc3e6", "#16324f", "forward alone"}, {"#7b57b8", "#ffffff", "computed again"},
      {"#e08a3c", "#ffffff", "backward"},      {"#4f9d69", "#ffffff", "update"},
      {"#dfe3e8", "#57606a", "workspace"}};
  return styles[static_cast<int>(holds)];
}

inline double TimelinePicture::kernel_width() const {
  return (right - left) / static_cast<double>(std::max<std::size_t>(t_.kernels.size(), 1));
}

inline double TimelinePicture::y(std::int64_t offset) const {
  return bottom - (bottom - top) * static_cast<double>(offset) / static_cast<double>(block());
}

inline void TimelinePicture::draw_totals() {
  const MemoryTable& m = t_.table;
  svg_.text(
      24, 34,
      "Memory of a training step, " + grouped(t_.batch) + (t_.batch == 1 ? " sample" : " samples") + " at a time",
      {.size = 18, .bold = true});
  svg_.text(24, 56,
            bytes(m.total()) + " in all: " + bytes(m.persistent()) + " stay, " + bytes(m.transient()) +
                " come and go with each micro-batch",
            {.size = 13, .fill = grey});
  struct Part {
    const char *name, *fill, *ink;
    std::int64_t bytes;
  };
  const Part parts[] = {{"parameters", "#24405e", "#ffffff", m.parameters},
                        {"gradients", "#c26a20", "#ffffff", m.gradients},
                        {"open blocks", "#e7b98b", "#24292f", m.open_blocks},
                        {"optimizer state", "#3c7d52", "#ffffff", m.optimizer_state},
                        {"derived", "#8c959f", "#ffffff", m.derived},
                        {"undo", "#a9b4c0", "#24292f", m.undo},
                        {"noise", "#c9b8d8", "#24292f", m.noise},
                        {"transient", "#eef1f4", "#24292f", m.transient()}};
  double at = 24;
  for (const Part& part : parts) {
    const double wide = (right - 24) * static_cast<double>(part.bytes) / static_cast<double>(m.total());
    if (part.bytes == 0) continue;
    const std::string number = bytes(part.bytes);
    svg_.rectangle(at, 70, wide, 38, part.fill, part.name + (": " + number), " stroke=\"#ffffff\"");
    if (Svg::width_of(part.name, 12) < wide - 8) svg_.text(at + 7, 86, part.name, {.fill = part.ink, .bold = true});
    if (Svg::width_of(number, 11) < wide - 8) svg_.text(at + 7, 101, number, {.size = 11, .fill = part.ink});
    at += wide;
  }
  svg_.line(at - 0.5, 108, right, 124, "#c4ccd4");  // the block is drawn larger below
  svg_.line(at - (right - 24) * static_cast<double>(m.transient()) / static_cast<double>(m.total()), 108, left, 124,
            "#c4ccd4");
}

inline void TimelinePicture::draw_legend() {
  double at = left;
  for (const Holds holds : {Holds::inputs, Holds::kept, Holds::forward, Holds::repeated, Holds::backward,
                            Holds::update, Holds::workspace}) {
    if (std::ranges::none_of(t_.bars, [&](const TimelineBar& bar) { return bar.holds == holds; })) continue;
    const Style s = style(holds);
    svg_.rectangle(at, 140, 12, 12, s.fill, {}, " rx=\"2\"");
    svg_.text(at + 17, 150.5, s.name);
    at += 38 + Svg::width_of(s.name, 12);
  }
}

inline void TimelinePicture::draw_phases() {
  const int count = static_cast<int>(t_.kernels.size());
  bool shaded = false;
  for (int first = 0, next = 0; first < count; first = next, shaded = !shaded) {
    const std::string phase = t_.kernels[static_cast<std::size_t>(first)].phase;
    while (next < count && t_.kernels[static_cast<std::size_t>(next)].phase == phase) ++next;
    svg_.rectangle(x(first), top - 26, x(next) - x(first), alive_bottom - top + 26, shaded ? "#f3f5f7" : "#fafbfc");
    if (Svg::width_of(phase, phase_size) < x(next) - x(first))
      svg_.text((x(first) + x(next)) / 2, top - 10, phase,
                {.size = phase_size, .fill = grey, .anchor = "middle", .bold = true});
  }
}

inline void TimelinePicture::draw_scale() {
  svg_.text(left - 7, top - 10, "place", {.size = 11, .fill = grey, .anchor = "end", .bold = true});
  std::int64_t step = 64;
  while (block() / step > 7) step *= 2;
  for (std::int64_t at = 0; at <= block(); at += step) {
    svg_.line(left, y(at), right, y(at), "#dfe4e9", " stroke-width=\"0.7\"");
    svg_.text(left - 7, y(at) + 4, scaled(at), {.size = 11, .fill = grey, .anchor = "end"});
  }
}

inline std::string TimelinePicture::scaled(std::int64_t n) {
  if (n >= 1_MiB && n % 1_MiB == 0) return grouped(n / 1_MiB) + " MiB";
  return n >= 1_KiB ? grouped(n / 1_KiB) + " KiB" : grouped(n) + " B";
}

inline void TimelinePicture::draw_bars() {
  for (const TimelineBar& bar : t_.bars) {
    const Style s = style(bar.holds);
    const double from = x(bar.begin), to = x(bar.end + 1), high = y(bar.offset) - y(bar.offset + bar.bytes);
    const std::string name = Timeline::title(bar.layer, bar.name);
    svg_.rectangle(from, y(bar.offset + bar.bytes), to - from, high, s.fill,
                   name + ": " + bytes(bar.bytes) + " at " + grouped(bar.offset) + ", kernels " +
                       std::to_string(bar.begin) + " to " + std::to_string(bar.end) + ", " + s.name,
                   " stroke=\"#ffffff\" stroke-width=\"0.6\"");
    label(bar, name, from + 4, to - from - 6, y(bar.offset + bar.bytes), high);
  }
}

inline void TimelinePicture::label(const TimelineBar& bar, const std::string& name, double at, double wide, double from,
                                         double high) {
  const Style s = style(bar.holds);
  const double size = std::min(11.0, high - 2), middle = from + high / 2 + size * 0.36;
  const auto fits = [&](const std::string& text, double width_of_bold = 1) {
    return !text.empty() && Svg::width_of(text, size) * width_of_bold <= wide;
  };
  constexpr double bold = 1.12;
  const std::string number = bytes(bar.bytes);
  if (size < 7) return;
  if (high >= 30 && fits(number)) {
    svg_.text(at, middle + 7, number, {.size = 10, .fill = s.ink});
    if (fits(name, bold))
      svg_.text(at, middle - 6, name, {.size = size, .fill = s.ink, .bold = true});
    else if (fits(bar.layer, bold))
      svg_.text(at, middle - 6, bar.layer, {.size = size, .fill = s.ink, .bold = true});
  } else if (fits(name + ", " + number)) {
    svg_.text(at, middle, name + ", " + number, {.size = size, .fill = s.ink});
  } else if (fits(bar.layer)) {
    svg_.text(at, middle, bar.layer, {.size = size, .fill = s.ink});
  }
}

inline void TimelinePicture::draw_bound() {
  const std::int64_t bound = t_.table.inputs + t_.lower_bound;
  const double ratio =
      static_cast<double>(t_.table.activations) / static_cast<double>(std::max<std::int64_t>(t_.lower_bound, 1));
  svg_.line(left, y(bound), right, y(bound), "#c62828", " stroke-dasharray=\"5 4\"");
  std::string text = "least possible " + bytes(t_.lower_bound);
  char times[40];
  const int thousandths = static_cast<int>(ratio * 1000 + 0.5);
  std::snprintf(times, sizeof(times), ", planned %d.%03d×", thousandths / 1000, thousandths % 1000);
  text += t_.table.activations == t_.lower_bound ? ", reached" : times;
  svg_.text(left + 6, y(bound) + 14, text, {.size = 11, .fill = "#c62828", .halo = true});
}

inline void TimelinePicture::draw_alive() {
  svg_.text(left, alive_top - 8, "bytes alive", {.fill = grey, .bold = true});
  std::int64_t most = 0;
  std::size_t fullest = 0;
  for (int k = 0; k < static_cast<int>(t_.kernels.size()); ++k) {
    std::int64_t alive = 0;
    for (const TimelineBar& bar : t_.bars) alive += bar.begin <= k && k <= bar.end ? bar.bytes : 0;
    if (alive > most) most = alive, fullest = static_cast<std::size_t>(k);
    const double high = (alive_bottom - alive_top) * static_cast<double>(alive) / static_cast<double>(block());
    svg_.rectangle(x(k), alive_bottom - high, kernel_width(), high, "#57708a",
                   t_.kernels[static_cast<std::size_t>(k)].name + ": " + bytes(alive) + " alive",
                   " stroke=\"#ffffff\" stroke-width=\"0.4\"");
  }
  if (!t_.kernels.empty())
    svg_.text(right, alive_top - 8,
              "most: " + bytes(most) + " in kernel " + std::to_string(fullest) + ", " + t_.kernels[fullest].name,
              {.size = 11, .fill = grey, .anchor = "end"});
  svg_.text(left - 7, alive_bottom + 4, "0", {.size = 11, .fill = grey, .anchor = "end"});
}

inline void TimelinePicture::draw_kernels() {
  const int every = static_cast<int>(11 / kernel_width()) + 1;
  for (int k = 0; k < static_cast<int>(t_.kernels.size()); k += every) {
    std::string name = std::to_string(k) + " " + t_.kernels[static_cast<std::size_t>(k)].name;
    if (name.size() > 24) {
      std::size_t end = 22;
      while ((static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) --end;  // inside a UTF-8 character
      name = name.substr(0, end) + "…";
    }
    svg_.text(x(k) + kernel_width() / 2 - 3, alive_bottom + 8, name, {.size = 10, .fill = grey, .turned = 90});
  }
}

GRADUAL_ONCE std::string picture_of(const Timeline& timeline) { return TimelinePicture(timeline).finished(); }

}  // namespace gradual::detail
