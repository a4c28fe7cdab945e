#pragma once
#include <string>

/// What the error of type E says that f() throws; "accepted" where it throws none.
template <class E, class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  }
  return "accepted";
}
