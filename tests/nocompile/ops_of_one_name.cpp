// expected-error: two ops of Ops have one name to the compiler: make them structs
#include <gradual/gradual.hpp>

using namespace gradual;

constexpr auto square_of = []<class T>(T x) { return x * x; };
constexpr auto half_of = []<class T>(T x) { return x / 2; };

template <auto F>
struct OpOf {
  static constexpr const char* name = "op";
  static constexpr int arity = 1;
  static constexpr bool differentiable = false;
  template <class T>
  GRADUAL_HD static constexpr T apply(T x) {
    return F(x);
  }
};
struct Square : OpOf<square_of> {};
struct Half : OpOf<half_of> {};

struct Model {
#ifdef GOOD
  using Ops = OpList<Square, Half>;
#else
  using Ops = OpList<OpOf<square_of>, OpOf<half_of>>;
#endif
  nn::Linear output;
  constexpr explicit Model(Scope s) : output(s / "output", 64, 10) {}
  constexpr Loss loss(Var x, Var label) const { return {cross_entropy(output(x), label)}; }
};

static_assert(Compiled<Model, Inputs<f32[64], i32>>::training_memory(Sgd{}, 1).total() > 0);
