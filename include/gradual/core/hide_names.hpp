// Hides names of a program that clash with this library's, before everything that it includes; restore_names.hpp comes after.
// Macros: of C's <complex.h>, X11, Qt, <windows.h> and game engines.
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
// Globals: g++ warns that declarations in lambdas in templates shadow them.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
