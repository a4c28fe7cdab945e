// expected-error: a Dataset copies nothing: keep its values in variables
#include <gradual/gradual.hpp>

using namespace gradual;

Dataset<f32, i32> data(const std::vector<float>& x, const std::vector<std::int32_t>& y) {
#if defined(GOOD)
  return Dataset(x, y);
#else
  return Dataset<f32, i32>(std::vector<float>(x), y);  // the values end here
#endif
}
