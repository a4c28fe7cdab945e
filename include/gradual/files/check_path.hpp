#pragma once
#include <string>

#include <gradual/core/error.hpp>
#include <gradual/files/system_calls.hpp>

namespace gradual::detail {

/// Errors: FileError for an empty path, or one that the system would cut off at a NUL, as text of a fixed length
/// contains; on Windows for one that is not UTF-8.
inline void check_path(const std::string& path) {
  if (path.empty()) throw FileError("an empty path: the path of a file is needed");
  if (path.find('\0') != path.npos) throw FileError(std::string(path.c_str()) + ": a path with a NUL character");
#if defined(_WIN32)
  if (wide(path).empty()) throw FileError(path + ": is not UTF-8, as paths are on Windows");
#endif
}

}  // namespace gradual::detail
