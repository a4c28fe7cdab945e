#pragma once
// The list of all update rules, swept by tests and benchmarks.
#include <gradual/gradual.hpp>

namespace models {

using namespace gradual;

template <class... Rule>
struct RuleList {
  template <template <class...> class List, class... More>
  using to = List<Rule..., More...>;
};

/// Rules that update each element by itself, and rules that read whole parameters or all of them.
using ElementwiseRules = RuleList<Sgd, Adam, AdamW, NAdam, RAdam, AmsGrad, Adamax, RmsProp, Adagrad, Adadelta, Lion>;
using WiderRules = RuleList<Lamb, Lars, Muon, Shampoo, Adafactor, Lbfgs>;

template <class... Wider>
using AfterElementwise = ElementwiseRules::to<RuleList, Wider...>;
using EveryRule = WiderRules::to<AfterElementwise>;

}  // namespace models
