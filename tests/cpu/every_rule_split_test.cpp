// Rules that update each element by itself; the others are in wider_rule_split_test.cpp.
#include "../every_rule_split.hpp"

namespace models {

INSTANTIATE_TYPED_TEST_SUITE_P(Elementwise, EveryRuleSplit, ElementwiseRules::to<testing::Types>);

}  // namespace models
