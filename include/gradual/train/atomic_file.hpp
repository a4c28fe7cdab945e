#pragma once
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>

#include <gradual/core/error.hpp>

namespace gradual {

/// Replaces a file at once: writes beside it, syncs, renames, syncs the folder. Whatever fails, a reader finds either
/// the old or the new content. Errors: FileError with the path and the system's reason; nothing is left behind.
inline void write_atomically(const std::string& path, std::span<const std::byte> content) {
  const std::string beside = path + ".writing";
  const auto fail = [&](const char* what, int file) {
    const std::string reason = std::strerror(errno);
    if (file >= 0) ::close(file);
    ::unlink(beside.c_str());
    throw FileError(path + ": " + what + ": " + reason);
  };
  struct ::stat about {};
  if (::stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode))  // a rename would put a file in a device's place
    throw FileError(path + ": cannot be replaced: is not a regular file");
  const int file = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) throw FileError(path + ": cannot be written: " + std::strerror(errno));
  while (!content.empty()) {
    const ssize_t count = ::write(file, content.data(), content.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail("cannot be written", file);
    content = content.subspan(static_cast<std::size_t>(count));
  }
  if (::fsync(file) != 0) fail("cannot be synced", file);
  if (::close(file) != 0) fail("cannot be closed", -1);
  if (::rename(beside.c_str(), path.c_str()) != 0) fail("cannot be replaced", -1);
  const auto folder = std::filesystem::path(path).parent_path();
  const int parent = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (parent >= 0) {
    ::fsync(parent);
    ::close(parent);
  }
}

}  // namespace gradual
