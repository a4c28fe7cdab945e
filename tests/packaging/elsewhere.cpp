// A second source that includes everything: a library function that is not inline would be defined twice.
#include <gradual/gradual.hpp>

void throw_from_elsewhere() { throw gradual::ShapeError("thrown in one source, caught in another"); }
