#include <exception>
#include <gradual/gradual.hpp>

void throw_from_elsewhere();

int main() {
  try {
    throw_from_elsewhere();
  } catch (const gradual::ShapeError&) {
    return 0;
  }
  return 1;
}
