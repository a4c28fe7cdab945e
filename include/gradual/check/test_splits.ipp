#pragma once
#include <gradual/check/test_splits.hpp>

#include <algorithm>
#include <cstdio>
#include <ostream>

namespace gradual {

GRADUAL_ONCE std::string SplitCheck::text(const Split& split) {
  if (split.size() > 1 && std::ranges::count(split, split[0]) == std::ssize(split))
    return std::to_string(split.size()) + " x " + std::to_string(split[0]);
  std::string text = "{";
  for (const std::int64_t part : split) {
    if (text.size() > 1) text += ',';
    text += std::to_string(part);
  }
  return text += '}';
}

GRADUAL_ONCE std::ostream& operator<<(std::ostream& out, const SplitCheck& check) {
  char row[192];
  std::snprintf(row, sizeof(row), "%-28s %14s %16s\n", "micro-batches", "bytes", "differing bits");
  out << row;
  for (const SplitCheck::Row& r : check.rows) {
    std::snprintf(row, sizeof(row), "%-28.120s %14lld %16lld\n", SplitCheck::text(r.split).c_str(),
                  static_cast<long long>(r.bytes), static_cast<long long>(r.differing_bits));
    out << row;
  }
  for (const std::string& mistake : check.mistakes) out << mistake << '\n';
  return out;
}

}  // namespace gradual
