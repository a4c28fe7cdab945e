// A program may define macros before it includes the library's headers, which leave them unchanged, and globals of any name.
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
#include <gradual/cuda_fast.hpp>

small near letter = 'a';
extern Bool a, batch, count, first, group, other, plan, rest, values;

struct Model {
  gradual::nn::Linear output;
  constexpr explicit Model(gradual::Scope s) : output(s / "output", 2, 1) {}
  constexpr gradual::Var predict(gradual::Var x) const { return output(tanh(x)); }
};

int main() {
  check(letter);
  gradual::Inference<gradual::Compiled<Model, gradual::Inputs<gradual::f32[2]>>> net(gradual::load("net.safetensors"));
  return min(max(1, 2), 3);
}
