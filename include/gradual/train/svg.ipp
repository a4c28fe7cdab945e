#pragma once
#include <gradual/train/svg.hpp>

#include <cstdint>

#include <gradual/core/config.hpp>

namespace gradual::detail {

GRADUAL_ONCE Svg::Svg(double width, double height) : text_("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ") {
  add(width), text_ += " ", add(height), text_ += "\"";
  add("width", width), add("height", height), text_ += " font-family=\"Helvetica, Arial, sans-serif\">\n";
  rectangle(0, 0, width, height, "#ffffff");
}

GRADUAL_ONCE void Svg::rectangle(double x, double y, double width, double height, const char* fill, std::string_view tip,
                                 const char* attributes) {
  text_ += "<rect", add("x", x), add("y", y), add("width", width), add("height", height), add("fill", fill);
  text_ += attributes;
  if (!tip.empty())
    text_ += "><title>", add_escaped(tip), text_ += "</title></rect>\n";
  else
    text_ += "/>\n";
}

GRADUAL_ONCE void Svg::line(double x1, double y1, double x2, double y2, const char* stroke, const char* attributes) {
  text_ += "<line", add("x1", x1), add("y1", y1), add("x2", x2), add("y2", y2), add("stroke", stroke);
  text_ += attributes;
  text_ += "/>\n";
}

GRADUAL_ONCE void Svg::text(double x, double y, std::string_view content, const SvgText& how) {
  text_ += "<text", add("x", x), add("y", y), add("font-size", how.size), add("fill", how.fill);
  if (how.anchor != std::string_view("start")) add("text-anchor", how.anchor);
  if (how.bold) add("font-weight", "bold");
  if (how.halo) text_ += " stroke=\"#ffffff\" stroke-width=\"3\" stroke-linejoin=\"round\" paint-order=\"stroke\"";
  if (how.turned != 0)
    text_ += " transform=\"rotate(", add(how.turned), text_ += " ", add(x), text_ += " ", add(y), text_ += ")\"";
  text_ += ">", add_escaped(content), text_ += "</text>\n";
}

GRADUAL_ONCE double Svg::width_of(std::string_view content, double size) {
  double characters = 0;
  for (const char c : content) characters += (static_cast<unsigned char>(c) & 0xC0) != 0x80;  // counts UTF-8 characters
  return characters * size * 0.58;
}

GRADUAL_ONCE void Svg::add(double value) {
  const auto tenths = static_cast<std::int64_t>(value * 10 + (value < 0 ? -0.5 : 0.5));
  const std::int64_t size = tenths < 0 ? -tenths : tenths;
  if (tenths < 0) text_ += "-";
  text_ += std::to_string(size / 10);
  if (size % 10 != 0) text_ += ".", text_ += std::to_string(size % 10);
}

GRADUAL_ONCE void Svg::add_escaped(std::string_view content) {
  for (const char c : content) {
    if (c == '&')
      text_ += "&amp;";
    else if (c == '<')
      text_ += "&lt;";
    else if (c == '>')
      text_ += "&gt;";
    else
      text_ += c;
  }
}

}  // namespace gradual::detail
