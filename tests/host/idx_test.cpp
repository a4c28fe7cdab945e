// MNIST's file format: every type of number, and errors before anything is allocated.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <gradual/data/idx.hpp>

#include "../error_of.hpp"

namespace idx_test {

using namespace gradual;

/// Returns the bytes of a file of this type and shape.
std::string file_of(int type, const std::vector<std::uint32_t>& shape, const std::string& numbers) {
  std::string file{'\0', '\0', static_cast<char>(type), static_cast<char>(shape.size())};
  for (const std::uint32_t extent : shape)
    for (const int shift : {24, 16, 8, 0}) file += static_cast<char>(extent >> shift);
  return file + numbers;
}
template <std::size_t N>
std::string bytes(const char (&text)[N]) {
  return {text, N - 1};
}

TEST(Idx, ReadsImagesAndLabels) {
  const IdxArray<float> images = parse_idx(file_of(0x08, {2, 1, 3}, bytes("\x00\x01\xff\x80\x7f\x02")));
  EXPECT_EQ(images.shape, (std::vector<std::int64_t>{2, 1, 3}));
  EXPECT_EQ(images.values, (std::vector<float>{0, 1, 255, 128, 127, 2}));
  EXPECT_EQ(parse_idx<std::int32_t>(file_of(0x08, {2}, bytes("\x07\xc8"))).values, (std::vector<std::int32_t>{7, 200}));
}

TEST(Idx, ReadsBytesAsTheyAre) {
  EXPECT_EQ(parse_idx<std::uint8_t>(file_of(0x08, {3}, bytes("\x00\x7f\xff"))).values,
            (std::vector<std::uint8_t>{0, 127, 255}));
  EXPECT_EQ(error_of<FileError>([] { parse_idx<std::uint8_t>(file_of(0x09, {1}, "a"), "i"); }),
            "i: holds 8-bit integers, which cannot all be read as uint8");
}

TEST(Idx, ReadsNone) { EXPECT_TRUE(parse_idx(file_of(0x08, {0, 28, 28}, "")).values.empty()); }

TEST(Idx, ReadsEveryTypeOfNumber) {
  EXPECT_EQ(parse_idx(file_of(0x09, {2}, bytes("\xff\x7f"))).values, (std::vector<float>{-1, 127}));
  EXPECT_EQ(parse_idx(file_of(0x0b, {2}, bytes("\xff\xfe\x01\x00"))).values, (std::vector<float>{-2, 256}));
  EXPECT_EQ(parse_idx<double>(file_of(0x0c, {1}, bytes("\x80\x00\x00\x00"))).values, std::vector<double>{-0x1p31});
  EXPECT_EQ(parse_idx<std::int32_t>(file_of(0x0c, {1}, bytes("\x80\x00\x00\x01"))).values,
            std::vector<std::int32_t>{-2147483647});
  EXPECT_EQ(parse_idx(file_of(0x0d, {1}, bytes("\xbf\x80\x00\x00"))).values, std::vector<float>{-1});
  EXPECT_EQ(parse_idx<double>(file_of(0x0e, {1}, bytes("\x3f\xb9\x99\x99\x99\x99\x99\x9a"))).values, std::vector<double>{0.1});
}

TEST(Idx, RefusesNumbersThatWouldBeRounded) {
  EXPECT_EQ(error_of<FileError>([] { parse_idx(file_of(0x0c, {1}, bytes("\x80\x00\x00\x01")), "i"); }),
            "i: holds 32-bit integers, which cannot all be read as float");
  EXPECT_THROW(parse_idx(file_of(0x0e, {1}, std::string(8, '\0'))), FileError);
  EXPECT_EQ(error_of<FileError>([] { parse_idx<std::int32_t>(file_of(0x0d, {1}, std::string(4, '\0')), "i"); }),
            "i: holds floats, which cannot all be read as int32");
}

TEST(Idx, RefusesMoreItemsThanTheFileHas) {  // case 35
  const std::string path = testing::TempDir() + "gradual-idx-test";
  const std::string file = file_of(0x08, {0xffffffff, 28, 28}, std::string(4112 - 16, '\0'));
  ASSERT_EQ(file.size(), 4112u);
  std::ofstream(path, std::ios::binary) << file;
  EXPECT_EQ(error_of<FileError>([&] { read_idx(path); }),
            path + ": has 4096 bytes of numbers, but 4294967295 x 28 x 28 8-bit integers need 3367254359280");
  const std::uint32_t most = 0xffffffff;
  EXPECT_EQ(error_of<FileError>([&] { parse_idx(file_of(0x08, {most, most, most}, "ab"), "i"); }),
            "i: has 2 bytes of numbers, but 4294967295 x 4294967295 x 4294967295 8-bit integers need more than can be "
            "counted");
  std::filesystem::remove(path);
}

TEST(Idx, RefusesWhatIsNoSuchFile) {
  const std::string whole = file_of(0x08, {2, 3}, "abcdef");
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_THROW(parse_idx(whole.substr(0, size)), FileError) << size;
  EXPECT_THROW(parse_idx(whole + "g"), FileError);
  EXPECT_EQ(error_of<FileError>([] { parse_idx("1,2,3\n", "i"); }),
            "i: is not an IDX file: it does not begin with two bytes of 0");
  EXPECT_EQ(error_of<FileError>([&] { parse_idx(std::string("\0\1", 2) + whole.substr(2), "i"); }),
            "i: is not an IDX file: it does not begin with two bytes of 0");
  EXPECT_EQ(error_of<FileError>([&] { parse_idx(whole.substr(0, 11), "i"); }),
            "i: is cut short: 11 bytes, but 2 axes need a header of 12");
  EXPECT_EQ(error_of<FileError>([] { parse_idx(file_of(0x07, {1}, "a"), "i"); }),
            "i: is not an IDX file: numbers of the unknown type 7");
  EXPECT_EQ(error_of<FileError>([] { parse_idx(bytes("\x1f\x8b\x08\x00"), "i"); }), "i: is compressed: gunzip it first");
  EXPECT_THROW(read_idx(testing::TempDir() + "gradual-idx-not-there"), FileError);
}

}  // namespace idx_test
