// Numbers are written and read with a decimal point, whatever the program's locale.
#include <gtest/gtest.h>

#include <clocale>
#include <cmath>
#include <cstdlib>
#include <locale>
#include <sstream>

#include <gradual/gradual.hpp>

#include "../error_of.hpp"

namespace locale_test {

using namespace gradual;

/// Returns texts from every part of the library that prints numbers.
std::string all_texts() {
  std::ostringstream out;  // with the program's locale
  ConfusionMatrix matrix(2);
  matrix.add(0, 0), matrix.add(0, 1), matrix.add(1, 1);
  out << matrix << Tensor::from(Device::cpu(), {0.5f, 1234.5f, -1e10f}, Shape{3}) << '\n';
  out << error_of<DataError>([] { parse_csv("1,2.5\n").labels(1); }) << '\n';
  out << error_of<DataError>([] { parse_csv("1\n2\n").split(1.5); }) << '\n';
  out << error_of<DataError>([] { Normalizer({1.5f}, {-0.25f}); }) << '\n';
  const std::vector<float> values = parse_csv("-1.5\n2.5e-3\n").values;
  out << (values == std::vector<float>{-1.5f, 2.5e-3f} ? "read" : "misread") << '\n';
  Tape tape;
  const Var x = input(tape, Shape::per_sample({2}), DType::f32);
  for (Var y = x * 0.5; tape.size() < 1100;) y = exp(y);
  out << tape;
  return out.str();
}

struct Commas : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST(NumberTexts, HaveASignBeforeTheirGroupsButNoneOfNaN) {
  EXPECT_EQ(detail::grouped(-123), "-123");
  EXPECT_EQ(detail::grouped(-1234567), "-1 234 567");
  EXPECT_EQ(detail::brief_text(std::copysign(std::nan(""), -1.0)), "nan");  // as processors make it of 0/0
  EXPECT_EQ(detail::fixed_text(std::copysign(std::nan(""), -1.0), 2), "nan");
}

TEST(Locales, OfStreamsChangeNoText) {
  const std::string classic = all_texts();
  EXPECT_NE(classic.find("0.5 "), classic.npos);
  EXPECT_NE(classic.find("%1099 = exp %1098"), classic.npos);
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new Commas));
  const std::string changed = all_texts();
  std::locale::global(before);
  EXPECT_EQ(changed, classic);
}

TEST(Locales, OfTheProgramChangeNoTextWhereOneOfCommasIsThere) {
  const std::string classic = all_texts(), folder = testing::TempDir() + "gradual_locale";
  // If the system has no locale with a decimal comma, one is compiled.
  const auto set = [] { return std::setlocale(LC_ALL, "de_DE.UTF-8") != nullptr; };
  if (!set() && std::system(("mkdir -p " + folder + " && localedef -i de_DE -f UTF-8 " + folder + "/de_DE.UTF-8").c_str()) == 0)
    ::setenv("LOCPATH", folder.c_str(), 1);
  if (!set()) GTEST_SKIP() << "no German locale here, nor what makes one";
  ASSERT_STREQ(std::localeconv()->decimal_point, ",");
  const std::string changed = all_texts();
  std::setlocale(LC_ALL, "C");
  EXPECT_EQ(changed, classic);
}

}  // namespace locale_test
