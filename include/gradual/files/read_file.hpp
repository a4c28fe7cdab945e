#pragma once
#include <string>

namespace gradual {

/// Returns the bytes of a regular file. Errors: FileError with the path and the system's reason.
std::string read_file(const std::string& path);

}  // namespace gradual

#ifndef GRADUAL_SHARED_KERNELS
#include <gradual/files/read_file.ipp>
#endif
