// A plug-in that computes with a model, and a program that loads two of them, whose models have the same name.
#if defined(ACTIVATION)
#include <cstdio>

#include <gradual/gradual.hpp>
using namespace gradual;

struct Model {
  nn::Linear layer;
  constexpr explicit Model(Scope s) : layer(s / "layer", 2, 1) {}
  constexpr Var predict(Var x) const { return ACTIVATION(layer(x)); }
};

extern "C" [[gnu::visibility("default")]] void run() {
  try {
    const std::vector<float> parameters{1, 1, 0}, x{1, 1};
    std::vector<float> y(1);
    Inference<Compiled<Model, Inputs<f32[2]>>>{std::span<const float>(parameters)}(x, y);
    std::printf("%.3f\n", y[0]);
  } catch (const NumericsError& error) {
    std::puts(error.what());
  }
}
#else
#include <dlfcn.h>

#include <cstdio>

int main(int count, char** paths) {
  for (int i = 1; i < count; ++i) {
    void* const plugin = dlopen(paths[i], RTLD_NOW | RTLD_LOCAL);
    if (plugin == nullptr) return 1;
    reinterpret_cast<void (*)()>(dlsym(plugin, "run"))();
    dlclose(plugin);
    if (dlopen(paths[i], RTLD_NOW | RTLD_NOLOAD) == nullptr) std::puts("unloaded");
  }
}
#endif
