#pragma once
#include <string>
#include <string_view>

namespace gradual::detail {

/// The style and alignment of a text.
struct SvgText {
  double size = 12;
  const char* fill = "#24292f";
  const char* anchor = "start";  ///< or "middle", "end"
  bool bold = false;
  double turned = 0;  ///< degrees, clockwise
  bool halo = false;  ///< white, for texts that may overlap something
};

/// A figure as SVG text, drawn from back to front. Lengths are in pixels.
class Svg {
 public:
  Svg(double width, double height);

  /// `tip` is shown while a pointer rests on it.
  void rectangle(double x, double y, double width, double height, const char* fill, std::string_view tip = {},
                 const char* attributes = "");
  void line(double x1, double y1, double x2, double y2, const char* stroke, const char* attributes = "");
  void text(double x, double y, std::string_view content, const SvgText& how = {});
  std::string finished() const { return text_ + "</svg>\n"; }

  /// Estimates the width of a text.
  static double width_of(std::string_view content, double size);

 private:
  template <class Value>
  void add(const char* name, Value value) {
    text_ += " ", text_ += name, text_ += "=\"", add(value), text_ += "\"";
  }
  void add(const char* value) { text_ += value; }
  /// With one decimal if needed, in any locale.
  void add(double value);
  void add_escaped(std::string_view content);

  std::string text_;
};

}  // namespace gradual::detail

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/train/svg.ipp>
#endif
