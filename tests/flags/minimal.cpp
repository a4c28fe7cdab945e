#include <gradual/gradual.hpp>

int main() {}
