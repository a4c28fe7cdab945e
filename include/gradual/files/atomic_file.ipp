#pragma once
#include <gradual/files/atomic_file.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include <gradual/core/config.hpp>
#include <gradual/files/check_path.hpp>
#include <gradual/files/system_calls.hpp>

namespace gradual::detail {

/// Creates a file beside `path` that no other save writes, in this process or another; returns its descriptor and sets `name`.
/// Where `path` exists, whose mode the file will get, only its owner can open it until then.
inline int create_beside(const std::string& path, bool exists, std::string& name) {
  static std::atomic<unsigned> saves = 0;
  constexpr std::size_t most_of_name = 200;  // of the 255 bytes that a system allows
  std::size_t kept = std::min(path.size(), end_of_folder(path) + most_of_name);
  while (kept < path.size() && (path[kept] & 0xC0) == 0x80) --kept;  // not half a character: some systems refuse it
  for (;;) {
    name = path.substr(0, kept) + ".writing-" + std::to_string(::getpid()) + "-" +
           std::to_string(saves++);
    const int file = open_file(name, to_create, exists ? 0600 : 0666);
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
    if (!beside.empty()) remove_file(beside);
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
  detail::FileStatus about{};
  const bool exists = detail::status_of(path, about) == 0;
  if (exists && !S_ISREG(about.st_mode))  // a rename would replace a device by a file
    throw FileError(path + ": cannot be replaced: is not a regular file");
  if (!exists && detail::is_link(path))  // a rename would replace the link
    throw FileError(path + ": cannot be written: is a link that leads to no file");
  const std::string target = exists ? detail::without_links(path) : path;  // a link stays one
  const std::size_t name = detail::end_of_folder(target);
  folder = detail::open_folder(name == 0 ? "." : target.substr(0, name));
  if (folder < 0) fail("its folder cannot be opened");
  file = detail::create_beside(target, exists, beside);
  if (file < 0) fail("cannot be written");
  if (exists && detail::keep_mode(file, about) != 0) fail("cannot be given the mode of the old file");
  while (!content.empty()) {
    const std::int64_t count = detail::write_some(file, content.data(), content.size());
    if (count <= 0) fail("cannot be written");
    content = content.subspan(static_cast<std::size_t>(count));
  }
  if (detail::sync_file(file) != 0) fail("cannot be synced");
  if (detail::close_written(std::exchange(file, -1)) != 0) fail("cannot be closed");
  if (detail::rename_file(beside, target) != 0) fail("cannot be replaced");
  beside.clear();
  if (detail::sync_folder(folder) != 0) fail("was replaced, but may be lost: its folder cannot be synced");
}

}  // namespace gradual
