#pragma once
#include <gradual/files/read_file.hpp>

#include <cerrno>
#include <cstring>

#include <gradual/core/config.hpp>
#include <gradual/files/check_path.hpp>
#include <gradual/files/system_calls.hpp>

namespace gradual {

GRADUAL_ONCE std::string read_file(const std::string& path) {
  detail::check_path(path);
  const int file = detail::open_file(path, detail::to_read);
  if (file < 0) throw FileError(path + ": cannot be opened: " + std::strerror(errno));
  struct Closer {
    int file;
    ~Closer() { ::close(file); }
  } const closer{file};
  detail::FileStatus about{};
  if (detail::status_of(file, about) != 0) throw FileError(path + ": cannot be read: " + std::strerror(errno));
  if (!S_ISREG(about.st_mode)) throw FileError(path + ": is not a regular file");
  std::string content(static_cast<std::size_t>(about.st_size), '\0');
  std::size_t done = 0;
  while (done < content.size()) {
    const std::int64_t count = detail::read_some(file, content.data() + done, content.size() - done);
    if (count < 0) throw FileError(path + ": cannot be read: " + std::strerror(errno));
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  content.resize(done);
  return content;
}

}  // namespace gradual
