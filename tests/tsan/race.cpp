// Two threads write without an order: the thread sanitizer is usable where it says so.
#include <thread>

int written = 0;

int main() {
  std::thread other([] { written = 1; });
  written = 2;
  other.join();
}
