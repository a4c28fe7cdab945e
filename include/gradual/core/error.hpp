#pragma once
#include <stdexcept>
#include <string>
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

/// Numbers of types that an op does not compute with, or not with each other.
struct TypeError : Error {
  using Error::Error;
};

/// More bytes needed than given. Holds its text itself: it can be thrown when nothing can be allocated any more.
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

/// A gradient or a parameter that is infinite or not a number, where the session was told to throw then, or no step can help.
struct NonFiniteError : Error {
  using Error::Error;
};

/// An option outside its range.
struct OptionError : Error {
  using Error::Error;
};

/// A value of a tape that has been forgotten, of another tape, or without the derivative that was asked for; or a parameter
/// that came too late.
struct TapeError : Error {
  using Error::Error;
};

/// A file that cannot be read or written, or whose content is not what it must be.
struct FileError : Error {
  using Error::Error;
};

/// A device that is not there, or that failed.
struct DeviceError : Error {
  using Error::Error;
};

/// The program was built or runs with settings under which results would not be reproducible.
struct NumericsError : Error {
  using Error::Error;
};

}  // namespace gradual
