#pragma once
// Every update rule: the one list that tests and benchmarks of all of them sweep.
#include <gradual/gradual.hpp>

namespace models {

using namespace gradual;

template <class... Rule>
struct RuleList {
  template <template <class...> class List, class... More>
  using to = List<Rule..., More...>;
};

/// Rules for which each element stands for itself, and those that look at whole parameters or at all of them.
using ElementwiseRules = RuleList<Sgd, Adam, AdamW, NAdam, RAdam, AmsGrad, Adamax, RmsProp, Adagrad, Adadelta, Lion>;
using WiderRules = RuleList<Lamb, Lars, Muon, Shampoo, Adafactor, Lbfgs>;

template <class... Wider>
using AfterElementwise = ElementwiseRules::to<RuleList, Wider...>;
using EveryRule = WiderRules::to<AfterElementwise>;

}  // namespace models
