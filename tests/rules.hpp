#pragma once
// Every update rule: the one list that tests of all of them sweep.
#include <gtest/gtest.h>

#include <gradual/gradual.hpp>

namespace models {

using namespace gradual;
using Rules = testing::Types<Sgd, Adam, AdamW, NAdam, RAdam, AmsGrad, Adamax, RmsProp, Adagrad, Adadelta, Lion, Lamb, Lars, Muon>;

}  // namespace models
