#pragma once
// Every update rule: the one list that tests and benchmarks of all of them sweep.
#include <gradual/gradual.hpp>

namespace models {

using namespace gradual;
template <template <class...> class List>
using EveryRule =
    List<Sgd, Adam, AdamW, NAdam, RAdam, AmsGrad, Adamax, RmsProp, Adagrad, Adadelta, Lion, Lamb, Lars, Muon, Adafactor>;

}  // namespace models
