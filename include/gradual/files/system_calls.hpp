#pragma once
// The system's calls that files need, by one set of names. They fail with −1 and `errno`.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <system_error>

#if defined(_WIN32)
#include <gradual/core/windows.hpp>
#endif

namespace gradual::detail {

/// The most bytes of one read or write: macOS and Windows refuse 2 GiB and more.
inline constexpr std::size_t most_at_once = 1 << 30;

#if defined(_WIN32)

using FileStatus = struct ::_stat64;
inline constexpr int to_read = _O_RDONLY, to_create = _O_WRONLY | _O_CREAT | _O_EXCL;

/// Returns a path, which is UTF-8, in Windows' characters; empty, which leads to no file, if it is something else.
inline std::wstring wide(const std::string& path) {
  const auto converted = [&](wchar_t* to, int room) {
    return windows::to_wide(windows::utf8, windows::refuse_invalid_characters, path.data(), static_cast<int>(path.size()), to,
                            room);
  };
  std::wstring result(static_cast<std::size_t>(converted(nullptr, 0)), L'\0');
  converted(result.data(), static_cast<int>(result.size()));
  return result;
}

inline int open_file(const std::string& path, int way, int /*mode*/ = 0) {
  return ::_wopen(wide(path).c_str(), way | _O_BINARY | _O_NOINHERIT, _S_IREAD | _S_IWRITE);
}
inline int status_of(int file, FileStatus& status) { return ::_fstat64(file, &status); }
inline int status_of(const std::string& path, FileStatus& status) { return ::_wstat64(wide(path).c_str(), &status); }
inline int keep_mode(int, const FileStatus&) { return 0; }  // a file without a mode
inline bool is_link(const std::string&) { return false; }  // a link is replaced
inline std::string without_links(const std::string& path) { return path; }
inline std::int64_t read_some(int file, char* to, std::size_t most) {
  return ::_read(file, to, static_cast<unsigned>(std::min(most, most_at_once)));
}
inline std::int64_t write_some(int file, const void* from, std::size_t most) {
  return ::_write(file, from, static_cast<unsigned>(std::min(most, most_at_once)));
}
inline int sync_file(int file) { return ::_commit(file); }
inline int close_written(int file) { return ::_close(file); }
inline int open_folder(const std::string&) { return ::_wopen(L"NUL", _O_RDONLY); }  // rename_file syncs it
inline int sync_folder(int) { return 0; }
inline int rename_file(const std::string& from, const std::string& to) {
  constexpr std::uint32_t how = windows::replace_existing | windows::write_through;
  const std::wstring wide_from = wide(from), wide_to = wide(to);
  std::uint32_t error = 0;
  for (std::uint32_t pause = 1; pause <= 512; pause *= 2) {  // a second in all: virus scanners and indexers open new files
    if (windows::move_file(wide_from.c_str(), wide_to.c_str(), how) != 0) return 0;
    error = windows::last_error();
    if (error != windows::access_denied && error != windows::sharing_violation) break;
    windows::sleep_milliseconds(pause);
  }
  errno = std::error_code(static_cast<int>(error), std::system_category()).default_error_condition().value();
  return -1;
}
inline int remove_file(const std::string& path) { return ::_wunlink(wide(path).c_str()); }
inline std::size_t end_of_folder(const std::string& path) { return path.find_last_of("/\\:") + 1; }

#else

using FileStatus = struct ::stat;
inline constexpr int to_read = O_RDONLY | O_NONBLOCK;  // a pipe without a writer must not block
inline constexpr int to_create = O_WRONLY | O_CREAT | O_EXCL;

/// Makes a call again as long as signals interrupt it, whose handlers may be those that stop a fit. Returns its result.
template <class F>
auto uninterrupted(F call) {
  for (;;)
    if (const auto result = call(); result >= 0 || errno != EINTR) return result;
}

inline int open_file(const std::string& path, int way, int mode = 0666) {
  return uninterrupted([&] { return ::open(path.c_str(), way | O_CLOEXEC, mode); });
}
inline int status_of(int file, FileStatus& status) { return ::fstat(file, &status); }
inline int status_of(const std::string& path, FileStatus& status) { return ::stat(path.c_str(), &status); }
inline int keep_mode(int file, const FileStatus& status) { return ::fchmod(file, status.st_mode & 07777); }
inline bool is_link(const std::string& path) {
  FileStatus status{};
  return ::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
}
inline std::string without_links(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> canonical(::realpath(path.c_str(), nullptr), &std::free);
  return canonical != nullptr ? canonical.get() : path;
}
inline std::int64_t read_some(int file, char* to, std::size_t most) {
  return uninterrupted([&] { return ::read(file, to, std::min(most, most_at_once)); });
}
inline std::int64_t write_some(int file, const void* from, std::size_t most) {
  return uninterrupted([&] { return ::write(file, from, std::min(most, most_at_once)); });
}
inline int sync_file(int file) {
#if defined(__APPLE__)  // whose fsync leaves data in the drive's cache; some file systems have nothing else
  if (uninterrupted([&] { return ::fcntl(file, F_FULLFSYNC); }) >= 0) return 0;
#endif
  return uninterrupted([&] { return ::fsync(file); });
}
inline int close_written(int file) { return ::close(file) == 0 || errno == EINTR ? 0 : -1; }  // interrupted, it is closed too
inline int open_folder(const std::string& path) {
  return uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
}
inline int sync_folder(int folder) { return sync_file(folder) == 0 || errno == EINVAL ? 0 : -1; }  // some file systems cannot
inline int rename_file(const std::string& from, const std::string& to) { return std::rename(from.c_str(), to.c_str()); }
inline int remove_file(const std::string& path) { return ::unlink(path.c_str()); }
inline std::size_t end_of_folder(const std::string& path) { return path.rfind('/') + 1; }

#endif

}  // namespace gradual::detail
