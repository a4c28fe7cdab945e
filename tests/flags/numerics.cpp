// Prints what is wrong with the flags that this, or another source of the same program, was compiled with.
#include <cstdio>

#include <gradual/core/numerics_check.hpp>

#if defined(BYSTANDER)
void stand_by() {}
#else
int main() {
  try {
    gradual::check_numerics();
    std::puts("nothing is wrong");
  } catch (const gradual::NumericsError& error) {
    std::puts(error.what());
  }
}
#endif
