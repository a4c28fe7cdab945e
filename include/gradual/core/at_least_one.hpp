#pragma once

namespace gradual {

/// An array of N elements, or of one where there are none. Compilers evaluate it faster than std::array.
template <class T, int N>
using AtLeastOne = T[N > 0 ? N : 1];

}  // namespace gradual
