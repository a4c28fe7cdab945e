// Built with contraction on: a session must say so before it computes anything.
#include <gtest/gtest.h>

#include "../models.hpp"

TEST(Contraction, IsRefusedWithTheFlagToAdd) {
  try {
    const gradual::Session session(models::ClassifierNet{}, gradual::Accumulate{gradual::Sgd{}}, {.global_batch = 4});
    FAIL() << "a session was made";
  } catch (const gradual::NumericsError& error) {
    EXPECT_NE(std::string(error.what()).find("-ffp-contract=off"), std::string::npos) << error.what();
  }
}
