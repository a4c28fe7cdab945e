// Macros of other headers which names of this library would be taken for: of C's <complex.h>, X11, Qt, <windows.h> and game
// engines. In front of all that a program includes; restore_macros.hpp, behind it, gives them back.
#pragma push_macro("I")
#pragma push_macro("Bool")
#pragma push_macro("check")
#pragma push_macro("far")
#pragma push_macro("max")
#pragma push_macro("min")
#pragma push_macro("near")
#pragma push_macro("slots")
#pragma push_macro("small")
#undef I
#undef Bool
#undef check
#undef far
#undef max
#undef min
#undef near
#undef slots
#undef small
