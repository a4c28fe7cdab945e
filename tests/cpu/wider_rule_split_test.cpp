// Rules that read whole parameters or all of them; the others are in every_rule_split_test.cpp.
#include "../every_rule_split.hpp"

namespace models {

INSTANTIATE_TYPED_TEST_SUITE_P(Wider, EveryRuleSplit, WiderRules::to<testing::Types>);

}  // namespace models
