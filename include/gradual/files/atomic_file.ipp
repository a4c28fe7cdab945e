#pragma once
#include <gradual/files/atomic_file.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include <gradual/core/config.hpp>
#include <gradual/files/check_path.hpp>
#include <gradual/files/uninterrupted.hpp>

namespace gradual::detail {

/// Creates a file beside `path` that no other save writes, in this process or another; returns its descriptor and sets `name`.
inline int create_beside(const std::string& path, std::string& name) {
  static std::atomic<unsigned> saves = 0;
  constexpr std::size_t most_of_name = 200;  // of the 255 bytes that a system allows
  for (;;) {
    name = path.substr(0, path.rfind('/') + 1 + most_of_name) + ".writing-" + std::to_string(::getpid()) + "-" +
           std::to_string(saves++);
    const int file = uninterrupted([&] { return ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); });
    if (file >= 0) return file;
    name.clear();
    if (errno != EEXIST) return file;  // else left by a process that died and had the same number
  }
}

/// The resources of a save in progress: however it ends, nothing is left behind.
struct UnfinishedSave {
  int folder = -1, file = -1;
  std::string beside;
  UnfinishedSave() = default;
  UnfinishedSave(const UnfinishedSave&) = delete;
  ~UnfinishedSave() {
    if (file >= 0) ::close(file);
    if (folder >= 0) ::close(folder);
    if (!beside.empty()) ::unlink(beside.c_str());
  }
};

}  // namespace gradual::detail

namespace gradual {

GRADUAL_ONCE void write_atomically(const std::string& path, std::span<const std::byte> content) {
  detail::UnfinishedSave save;
  auto& [folder, file, beside] = save;
  const auto fail = [&](const char* what) {
    const char* const reason = std::strerror(errno);
    throw FileError(path + ": " + what + ": " + reason);
  };
  detail::check_path(path);
  struct ::stat about {};
  const bool exists = ::stat(path.c_str(), &about) == 0;
  if (exists && !S_ISREG(about.st_mode))  // a rename would replace a device by a file
    throw FileError(path + ": cannot be replaced: is not a regular file");
  if (!exists && ::lstat(path.c_str(), &about) == 0 && S_ISLNK(about.st_mode))  // a rename would replace the link
    throw FileError(path + ": cannot be written: is a link that leads to no file");
  const std::unique_ptr<char, decltype(&std::free)> canonical(exists ? ::realpath(path.c_str(), nullptr) : nullptr, &std::free);
  const std::string target = canonical != nullptr ? canonical.get() : path;  // a link stays one
  const std::size_t slash = target.rfind('/');
  const std::string above = slash == std::string::npos ? "." : target.substr(0, slash + 1);
  folder = detail::uninterrupted([&] { return ::open(above.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (folder < 0) fail("its folder cannot be opened");
  file = detail::create_beside(target, beside);
  if (file < 0) fail("cannot be written");
  if (exists && ::fchmod(file, about.st_mode & 07777) != 0) fail("cannot be given the mode of the old file");
  while (!content.empty()) {
    const ssize_t count = detail::uninterrupted([&, to = file] { return ::write(to, content.data(), content.size()); });
    if (count <= 0) fail("cannot be written");
    content = content.subspan(static_cast<std::size_t>(count));
  }
  const auto sync = [](int what) { return detail::uninterrupted([=] { return ::fsync(what); }); };
  if (sync(file) != 0) fail("cannot be synced");
  if (::close(std::exchange(file, -1)) != 0 && errno != EINTR) fail("cannot be closed");  // interrupted, it is closed as well
  if (::rename(beside.c_str(), target.c_str()) != 0) fail("cannot be replaced");
  beside.clear();
  if (sync(folder) != 0 && errno != EINVAL)  // some file systems sync no folders
    fail("was replaced, but may be lost: its folder cannot be synced");
}

}  // namespace gradual
