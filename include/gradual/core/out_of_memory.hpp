#pragma once
#include <gradual/core/error.hpp>
#include <gradual/core/message.hpp>
#include <new>

namespace gradual {

/// Returns f(). Errors: MemoryError that names `what` if the system refuses memory that no plan counts (texts, files, lists).
template <class F>
decltype(auto) or_memory_error(const char* what, F&& f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    throw MemoryError((Message() << what << ": the system refused memory").view());
  }
}

}  // namespace gradual
