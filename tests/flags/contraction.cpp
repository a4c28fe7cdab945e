// Built with contraction on: sessions and inferences must report it before they compute anything.
#include <gtest/gtest.h>

#include "../models.hpp"

template <class Make>
void expect_refused(Make make) {
  try {
    make();
    FAIL() << "it was made";
  } catch (const gradual::NumericsError& error) {
    EXPECT_NE(std::string(error.what()).find("-ffp-contract=off"), std::string::npos) << error.what();
  }
}

TEST(Contraction, IsRefusedWithTheFlagToAdd) {
  using Net = models::ClassifierNet;
  expect_refused([] { gradual::Session(Net{}, gradual::Accumulate{gradual::Sgd{}}, {.global_batch = 4}); });
  expect_refused([] { gradual::Inference<Net>(std::vector<float>(Net::parameter_elements)); });
}
