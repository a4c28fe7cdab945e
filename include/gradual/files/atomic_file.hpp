#pragma once
#include <cstddef>
#include <span>
#include <string>

namespace gradual {

/// Replaces a file at once: writes beside it, syncs, renames, syncs the folder. Whatever fails, a reader finds either
/// the old or the new content; of saves at the same time, the content of one. The file keeps its mode; a link leads to it as
/// before. Errors: FileError with the path and the system's reason; nothing is left behind. Where only the folder could not be
/// synced, the content is the new one already.
void write_atomically(const std::string& path, std::span<const std::byte> content);

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/files/atomic_file.ipp>
#endif
