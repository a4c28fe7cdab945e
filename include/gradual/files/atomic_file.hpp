#pragma once
#include <cstddef>
#include <span>
#include <string>

namespace gradual {

/// Replaces a file atomically: writes beside it, syncs, renames, syncs the folder. Whatever fails, a reader finds either the
/// old or the new content; of concurrent saves, the content of one. The file keeps its mode, and links still lead to it.
/// Errors: FileError with the path and the system's reason; no partial file is left behind. If only the folder could not be
/// synced, the content is already the new one. On Windows a path is UTF-8, and a link is replaced.
void write_atomically(const std::string& path, std::span<const std::byte> content);

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/files/atomic_file.ipp>
#endif
