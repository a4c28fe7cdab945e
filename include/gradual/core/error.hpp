#pragma once
#include <stdexcept>
#include <string_view>

namespace gradual {

/// Base of everything the library throws; `what()` names the place and the numbers.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Shapes that do not fit together, or a size that cannot be represented.
struct ShapeError : Error {
  using Error::Error;
};

/// Types that an op does not support, or does not support together.
struct TypeError : Error {
  using Error::Error;
};

/// More bytes needed than allowed or available. Holds its text: it can be thrown when nothing can be allocated any more.
struct MemoryError : Error {
  explicit MemoryError(std::string_view text) : Error("") { text.copy(text_, sizeof(text_) - 1); }
  const char* what() const noexcept override { return text_; }

 private:
  char text_[2048]{};
};

/// A value in the user's data that the model cannot accept: a label outside the classes, a NaN, an empty data set.
struct DataError : Error {
  using Error::Error;
};

/// An infinite or NaN gradient or parameter, if the session was told to throw on one or if no step can help.
struct NonFiniteError : Error {
  using Error::Error;
};

/// An option outside its range.
struct OptionError : Error {
  using Error::Error;
};

/// A value that its tape has forgotten, that belongs to another tape, or that lacks the requested derivative; or a parameter
/// that was added too late.
struct TapeError : Error {
  using Error::Error;
};

/// A file that cannot be read or written, or whose content is invalid.
struct FileError : Error {
  using Error::Error;
};

/// A device that is missing or has failed.
struct DeviceError : Error {
  using Error::Error;
};

/// Build or run-time settings under which results would not be reproducible.
struct NumericsError : Error {
  using Error::Error;
};

}  // namespace gradual
