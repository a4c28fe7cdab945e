#pragma once
#include <string>

/// Returns the message of the error of type E that f() throws; "accepted" if it throws none.
template <class E, class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  }
  return "accepted";
}
