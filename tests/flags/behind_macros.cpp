// Headers of others may stand before the library's, and keep their macros.
#include <complex.h>

#include <algorithm>
#include <vector>

#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define near
#define far
#define small char
#define interface struct
#define IN
#define OUT
#define OPTIONAL
#define ERROR 0
#define DEBUG 1
#define TRUE 1
#define FALSE 0
#define Bool int
#define Status int
#define None 0
#define Success 0
#define True 1
#define False 0
#define Always 2
#define signals public
#define slots
#define emit
#define foreach for
#define check(condition) (void)(condition)
#define verify(condition) (void)(condition)

#include <gradual/gradual.hpp>
// And in front of the other one
#define GRADUAL_CUDA_TWIN
#include <gradual/cuda.hpp>

small near letter = 'a';
Bool is_restored() {
  check(letter);
  return min(max(1, 2), 3) == 2 && I * I == -1;
}

int main() {}
