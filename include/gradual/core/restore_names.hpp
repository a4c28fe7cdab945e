// Restores what hide_names.hpp has hidden.
#pragma GCC diagnostic pop
#pragma pop_macro("I")
#pragma pop_macro("Bool")
#pragma pop_macro("check")
#pragma pop_macro("far")
#pragma pop_macro("max")
#pragma pop_macro("min")
#pragma pop_macro("near")
#pragma pop_macro("slots")
#pragma pop_macro("small")
