// expected-error: averages know metrics by number: averages.metric(Net::metric("accuracy"))
#include <gradual/gradual.hpp>

using namespace gradual;

double accuracy(const Averages& averages) {
#if defined(GOOD)
  return averages.metric(0);
#else
  return averages.metric("accuracy");
#endif
}
