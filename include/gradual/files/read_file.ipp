#pragma once
#include <gradual/files/read_file.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <gradual/core/config.hpp>
#include <gradual/files/check_path.hpp>
#include <gradual/files/uninterrupted.hpp>

namespace gradual {

GRADUAL_ONCE std::string read_file(const std::string& path) {
  detail::check_path(path);
  const int file = detail::uninterrupted([&] {
    return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe without a writer must not block
  });
  if (file < 0) throw FileError(path + ": cannot be opened: " + std::strerror(errno));
  struct Closer {
    int file;
    ~Closer() { ::close(file); }
  } const closer{file};
  struct ::stat about {};
  if (::fstat(file, &about) != 0) throw FileError(path + ": cannot be read: " + std::strerror(errno));
  if (!S_ISREG(about.st_mode)) throw FileError(path + ": is not a regular file");
  std::string content(static_cast<std::size_t>(about.st_size), '\0');
  std::size_t done = 0;
  while (done < content.size()) {
    const ssize_t count = detail::uninterrupted([&] { return ::read(file, content.data() + done, content.size() - done); });
    if (count < 0) throw FileError(path + ": cannot be read: " + std::strerror(errno));
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  content.resize(done);
  return content;
}

}  // namespace gradual
