// Files: contents are read back bit for bit; all damage is refused.
#include <gtest/gtest.h>

#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>

#include <gradual/files/checkpoint.hpp>

#include "../error_of.hpp"

namespace checkpoint_test {

using namespace gradual;

std::string path(const char* name) {
  return (std::filesystem::temp_directory_path() / (std::string("gradual_checkpoint_") + name + std::to_string(::getpid())))
      .string();
}
std::vector<char> bytes_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write(const std::string& file, std::span<const char> bytes) {
  std::ofstream(file, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}
/// Writes a file with this header and `data` bytes of data.
void write(const std::string& file, std::string header, std::size_t data) {
  const std::uint64_t length = header.size();
  std::string all(reinterpret_cast<const char*>(&length), 8);
  all += header + std::string(data, '\0');
  write(file, std::span<const char>(all));
}

struct Checkpoints : testing::Test {
  std::string file = path("a");
  Checkpoint example;
  Checkpoints() {
    example.tensors["b/weight"] = {{2, 2}, {1, -0.0f, std::bit_cast<float>(0x7fc12345u), 4}};
    example.tensors["a"] = {{}, {3}};
    example.tensors["empty"] = {{0, 5}, {}};
    example.notes["made by"] = "a \"test\"";
  }
  ~Checkpoints() override { std::filesystem::remove(file); }
};

TEST_F(Checkpoints, RoundTripKeepsEveryBit) {
  save(file, example);
  const Checkpoint read = load(file);
  EXPECT_EQ(read.notes, example.notes);
  ASSERT_EQ(read.tensors.size(), 3u);
  for (const auto& [name, tensor] : example.tensors) {
    const StoredTensor& got = read.tensors.at(name);
    EXPECT_EQ(got.shape, tensor.shape);
    ASSERT_EQ(got.values.size(), tensor.values.size());
    if (!tensor.values.empty()) {
      EXPECT_EQ(std::memcmp(got.values.data(), tensor.values.data(), tensor.values.size() * 4), 0);
    }
  }
}

TEST_F(Checkpoints, AreReadFromMemoryToo) {
  example.tensors["of sixteen bits"] = {{3}, {1, 2, 3}, DType::bf16};
  save(file, example);
  const std::vector<char> whole = bytes_of(file);
  const auto bytes = std::as_bytes(std::span(whole));
  EXPECT_TRUE(std::ranges::equal(bytes_of(example), bytes));
  const Checkpoint read = load(bytes);
  EXPECT_EQ(read.notes, example.notes);
  EXPECT_EQ(read.tensors.size(), example.tensors.size());
  EXPECT_EQ(read.tensor("a").values, example.tensor("a").values);
  EXPECT_EQ(error_of<FileError>([&] { load(bytes.first(7)); }), "a file in memory: is shorter than a safetensors header");
  EXPECT_EQ(error_of<FileError>([&] { load({}, "weights"); }), "weights: is shorter than a safetensors header");
  EXPECT_EQ(error_of<FileError>([&] { read.tensor("c"); }),
            "the file has no tensor 'c'; it holds 'a', 'b/weight', 'empty', 'of sixteen bits'");
  example.notes["gradual"] = "2";
  EXPECT_EQ(error_of<FileError>([&] { bytes_of(example); }),
            "a file in memory: the note 'gradual' is the file's own: give yours another name");
}

TEST_F(Checkpoints, ATruncatedFileIsRefusedAtEveryLength) {
  save(file, example);
  const std::vector<char> whole = bytes_of(file);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    write(file, std::span(whole).first(length));
    EXPECT_THROW(load(file), FileError) << length;
  }
  write(file, std::span(whole).first(whole.size() - 1));
  const std::string why = error_of<FileError>([&] { load(file); });
  EXPECT_TRUE(why.ends_with(": the file is cut short")) << why;
}

TEST_F(Checkpoints, EveryFlippedBitIsFound) {
  example.tensors["half"] = {{3}, {1.5f, 0x1p-24f, 0}, DType::f16};
  save(file, example);
  const std::vector<char> whole = bytes_of(file);
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::vector<char> damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    write(file, damaged);
    try {
      const Checkpoint read = load(file);  // only damage to no content may pass, such as a blank after the header
      EXPECT_EQ(read.notes, example.notes) << bit;
      for (const auto& [name, tensor] : example.tensors) {
        ASSERT_TRUE(read.tensors.contains(name)) << bit;
        EXPECT_EQ(read.tensors.at(name).shape, tensor.shape) << bit;
        if (!tensor.values.empty()) {
          EXPECT_EQ(std::memcmp(read.tensors.at(name).values.data(), tensor.values.data(), tensor.values.size() * 4), 0) << bit;
        }
      }
    } catch (const FileError&) {
    }
  }
}

TEST_F(Checkpoints, RefusesWhatCannotBe) {
  const auto refused = [&](const std::string& header, std::size_t data) {
    write(file, header, data);
    EXPECT_THROW(load(file), FileError) << header;
  };
  const auto tensor = [](const char* shape, const char* range) {
    return std::string(R"({"a":{"dtype":"F32","shape":)") + shape + R"(,"data_offsets":)" + range + "}}";
  };
  refused(tensor("[2]", "[8,0]"), 8);
  refused(tensor("[2]", "[0,16]"), 8);
  refused(tensor("[2]", "[4,12]"), 12);
  refused(tensor("[2]", "[0,8]"), 9);
  refused(tensor("[2]", "[0,4]"), 4);
  refused(tensor("[-1]", "[0,8]"), 8);
  refused(tensor("[4294967296,4294967296]", "[0,0]"), 0);
  refused(tensor("[4611686018427387905]", "[0,4]"), 4);
  refused(tensor("[2]", "[0,18446744073709551615]"), 8);
  refused(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8);
  refused(R"({"\udc00":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4);
  refused(R"({"__metadata__":{"a":"\udfff"},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4);
  refused(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4);
  for (const char* const type : {"F32", "I32"})  // the other is left out
    refused(std::string(R"({"a":{"dtype":"I32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":")") + type +
                R"(","shape":[1],"data_offsets":[4,8]}})", 8);
  refused("[]", 0);
  refused(std::string(100000, '['), 0);
  std::vector<char> huge(16, '\xff');
  write(file, huge);
  EXPECT_THROW(load(file), FileError);
  const std::uint64_t longer = 100'000'001;  // than readers accept
  std::string blank(8 + longer, ' ');
  std::memcpy(blank.data(), &longer, 8);
  blank[8] = '{', blank[9] = '}';
  EXPECT_THROW(load(std::as_bytes(std::span(blank))), FileError);
}

/// Each error is reported where it begins: what follows is not JSON.
TEST_F(Checkpoints, SaysWhatAHeaderHasInAWrongPlace) {
  const std::string brackets(100000, '[');
  const std::vector<std::pair<std::string, std::string>> headers = {
      {R"({"a":[)", "tensor 'a' needs dtype, shape and data_offsets"},
      {R"({"a":{"dtype":"F32","kind":)", "tensor 'a' needs dtype, shape and data_offsets"},
      {R"({"a":{"dtype":"F32","dtype":)", "tensor 'a' needs dtype, shape and data_offsets"},
      {R"({"a":{"dtype":"F32","shape":[]},)", "tensor 'a' needs dtype, shape and data_offsets"},
      {R"({"a":{"dtype":32,)", "tensor 'a' has no type"},
      {R"({"a":{"dtype":{)", "tensor 'a' has no type"},
      {R"({"a":{"shape":"[]")", "tensor 'a' has a malformed shape or range"},
      {R"({"a":{"shape":)" + brackets, "tensor 'a' has an impossible shape"},
      {R"({"a":{"shape":[1.0,)", "tensor 'a' has an impossible shape"},
      {R"({"a":{"shape":[-4294967297,)", "tensor 'a' has an impossible shape"},
      {R"({"a":{"shape":[9223372036854775808,)", "tensor 'a' has an impossible shape"},
      {R"({"a":{"data_offsets":)" + brackets, "tensor 'a' has a malformed shape or range"},
      {R"({"a":{"data_offsets":[0,-1,)", "tensor 'a' has a malformed shape or range"},
      {R"({"a":{"data_offsets":[0,1,2)", "tensor 'a' has a malformed shape or range"},
      {R"({"a":{"dtype":"F32","shape":[],"data_offsets":[]},)", "tensor 'a' has a malformed shape or range"},
      {R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0]},)", "tensor 'a' has a malformed shape or range"},
      {R"({"a":{"dtype":"F32","shape":[],"data_offsets":[4,0]},)", "tensor 'a' has a malformed shape or range"},
      {R"({"__metadata__":"",)", "has metadata twice, or metadata that is not an object"},
      {R"({"__metadata__":{},"__metadata__":{)", "has metadata twice, or metadata that is not an object"},
      {R"({"__metadata__":{"a":[)", "has metadata that is not text, or occurs twice"},
      {R"({"__metadata__":{"a":{)", "has metadata that is not text, or occurs twice"},
      {R"({"__metadata__":{"a":"","a":"",)", "has metadata that is not text, or occurs twice"},
  };
  for (const auto& [header, why] : headers) {
    write(file, header, 0);
    EXPECT_EQ(error_of<FileError>([&] { load(file); }), file + ": " + why) << header.substr(0, 80);
  }
}

TEST_F(Checkpoints, ReadsFilesWithoutAChecksum) {
  write(file, std::string(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})"), 4);
  EXPECT_EQ(load(file).tensors.at("a").values, std::vector<float>{0});
  using Notes = std::map<std::string, std::string>;
  for (const auto& [note, read] : {std::pair(R"("checksum":"md5:abc")", Notes{{"checksum", "md5:abc"}}),
                                   {R"("gradual":"yes")", Notes{{"gradual", "yes"}}},
                                   {R"("checksum":"0x12","gradual":"2")", Notes{{"checksum", "0x12"}, {"gradual", "2"}}}}) {
    write(file, std::string("{\"__metadata__\":{") + note + R"(},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4);
    EXPECT_EQ(load(file).notes, read) << "another program's";
  }
  for (const std::string note : {R"("checksum":"123")", R"("gradual":"1")", R"("checksum":"123","gradual":"2")"}) {
    write(file, "{\"__metadata__\":{" + note + R"(},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4);
    EXPECT_EQ(error_of<FileError>([&] { load(file); }), file + ": its checksum is damaged");
  }
}

TEST_F(Checkpoints, ReadsSixteenBitsAsFloatsAndLeavesOtherTypesOut) {
  const std::string header = R"({"b": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]},)"
                             R"( "h": {"dtype": "F16", "shape": [1], "data_offsets": [4, 6]},)"
                             R"( "n": {"dtype": "I64", "shape": [], "data_offsets": [6, 14]}})";
  const std::uint64_t length = header.size();
  const std::uint16_t values[] = {0x3fc0, 0xc000, 0x3800};  // 1.5, -2 and 0.5
  std::string all(reinterpret_cast<const char*>(&length), 8);
  all += header + std::string(reinterpret_cast<const char*>(values), 6) + std::string(8, '\1');
  write(file, std::span<const char>(all));
  const Checkpoint read = load(file);
  EXPECT_EQ(read.tensor("b").values, (std::vector<float>{1.5f, -2.0f}));
  EXPECT_EQ(read.tensor("h").values, std::vector<float>{0.5f});
  EXPECT_EQ(read.tensors.size(), 2u);
  try {
    read.tensor("n");
    FAIL() << "a tensor that was left out";
  } catch (const FileError& error) {
    EXPECT_STREQ(error.what(), "tensor 'n' is of I64, which cannot be read");
  }
  write(file, R"({"a":{"dtype":"F32\u0000","shape":[1],"data_offsets":[0,4]}})", 4);
  EXPECT_EQ(load(file).left_out.at("a"), std::string("F32\0", 4));
}

TEST_F(Checkpoints, WritesSixteenBits) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  example.tensors["a/brain"] = {{5}, {1, 1.00390625f, 1.01171875f, -infinity, 0x1.fep127f}, DType::bf16};  // ties to even
  example.tensors["a/half"] = {{3}, {1.00048828125f, 65504, 65519}, DType::f16};
  save(file, example);
  const Checkpoint read = load(file);
  EXPECT_EQ(read.tensor("a/brain").values, (std::vector<float>{1, 1, 1.015625f, -infinity, 0x1.fep127f}));
  EXPECT_EQ(read.tensor("a/half").values, (std::vector<float>{1, 65504, 65504}));
  EXPECT_EQ(read.tensor("a").values, std::vector<float>{3});
  EXPECT_EQ(read.elements<double>("a/half"), (std::vector<double>{1, 65504, 65504}));
  EXPECT_EQ(read.tensor("a/half", DType::f16).values, read.tensor("a/half").values);
  EXPECT_EQ(error_of<FileError>([&] { read.tensor("a/half", DType::bf16); }), "tensor 'a/half' is of f16, not of bf16");
  EXPECT_EQ(error_of<FileError>([&] { read.tensor("a", DType::f16); }), "tensor 'a' is of float, not of f16");
  const std::vector<char> bytes = bytes_of(file);
  const std::string text(bytes.begin(), bytes.end());  // after 5 words, which stay aligned for reading in place
  EXPECT_NE(text.find(R"("a/brain":{"dtype":"BF16","shape":[5],"data_offsets":[20,30]})"), text.npos);
  EXPECT_NE(text.find(R"("a/half":{"dtype":"F16","shape":[3],"data_offsets":[30,36]})"), text.npos);
  save(file, read);
  EXPECT_EQ(bytes_of(file), bytes);  // in 16 bits again

  example.tensors["a/half"].values[1] = 65520;
  EXPECT_EQ(error_of<FileError>([&] { save(file, example); }),
            "element 1 of tensor 'a/half' is 65520, which f16 does not hold");
  example.tensors["a/half"].dtype = DType::bf16;
  example.tensors["a/brain"].values[2] = std::numeric_limits<float>::max();
  EXPECT_EQ(error_of<FileError>([&] { save(file, example); }),
            "element 2 of tensor 'a/brain' is 1e12 or more, which bf16 does not hold");
  EXPECT_EQ(bytes_of(file), bytes);
}

TEST_F(Checkpoints, NeverSavesWhatCannotBeLoaded) {
  save(file, example);
  const std::vector<char> before = bytes_of(file);
  for (const auto spoil : {+[](Checkpoint& c) { c.notes["gradual"] = "2"; }, +[](Checkpoint& c) { c.notes["checksum"] = "0"; },
                           +[](Checkpoint& c) { c.notes["name"] = "\xff"; },
                           +[](Checkpoint& c) {
                             c.tensors["b"] = {{2}, {1}};
                           },
                           +[](Checkpoint& c) {
                             c.tensors["__metadata__"] = {{1}, {1}};
                           }}) {
    Checkpoint spoiled = example;
    spoil(spoiled);
    EXPECT_THROW(save(file, spoiled), FileError);
    EXPECT_EQ(bytes_of(file), before);
  }
  Checkpoint taken = example;
  taken.notes["checksum"] = "of mine";
  EXPECT_EQ(error_of<FileError>([&] { save(file, taken); }),
            file + ": the note 'checksum' is the file's own: give yours another name");
  Checkpoint latin = example;
  latin.notes["city"] = "Z\xfcrich";
  EXPECT_EQ(error_of<FileError>([&] { save(file, latin); }), "note 'city' is not UTF-8");
  Checkpoint counted = example;
  counted.tensors["b"] = {{1}, {1}, DType::i32};
  EXPECT_EQ(error_of<FileError>([&] { save(file, counted); }),
            "tensor 'b' is of int32: files hold float, double, bf16 and f16");
  Checkpoint larger = example;
  larger.tensors["b"] = {{5, 1}, {1, 2, 3, 4}};
  EXPECT_EQ(error_of<FileError>([&] { save(file, larger); }),
            file + ": tensor 'b' is [5, 1] and needs 5 values of 4 bytes, got 16 bytes");
  for (const char* cut : {"\xf0", "a\xe2\x82", "st\xf4t"}) {  // beyond whose end nothing may be read
    latin.notes = {{"city", std::string(40, 'a') + cut}};  // a copy, which has no spare capacity
    EXPECT_EQ(error_of<FileError>([&] { save(file, latin); }), "note 'city' is not UTF-8") << cut;
  }
  latin.notes["city"] = std::string(100'000'001, 'a');
  EXPECT_EQ(error_of<FileError>([&] { save(file, latin); }),
            "note 'city' has 100000001 bytes, but a header has 100000000 at most");
  latin = example;
  latin.tensors["\xe4"] = {{1}, {1}};
  EXPECT_EQ(error_of<FileError>([&] { save(file, latin); }), "the name of tensor '\xe4' is not UTF-8");
  latin = example;
  latin.notes["\xe4"] = "umlaut";
  EXPECT_EQ(error_of<FileError>([&] { save(file, latin); }), "the name of note '\xe4' is not UTF-8");
  example.notes["nul"] = std::string("a\0b", 3);
  example.tensors[std::string("a\0", 2)] = {{1}, {5}};
  save(file, example);
  EXPECT_EQ(load(file).notes, example.notes);
  EXPECT_EQ(load(file).tensors.size(), 4u);
}

TEST_F(Checkpoints, AFolderIsNoCheckpoint) {
  EXPECT_EQ(error_of<FileError>([] { load("."); }), ".: is not a regular file");
}

TEST_F(Checkpoints, AnEmptyPathIsOfNoFile) {
  const char* const text = "an empty path: the path of a file is needed";
  EXPECT_EQ(error_of<FileError>([&] { save("", example); }), text);
  EXPECT_EQ(error_of<FileError>([] { load(""); }), text);
}

TEST_F(Checkpoints, AFailedSaveLeavesTheOldFile) {
  save(file, example);
  const std::vector<char> before = bytes_of(file);
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit little{8, limit.rlim_max};  // like a disk that is nearly full
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &little), 0);
  EXPECT_THROW(save(file, Checkpoint{}), FileError);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(bytes_of(file), before);
  EXPECT_THROW(save("/no/such/folder/file", example), FileError);
}

TEST_F(Checkpoints, AHeaderIsJsonFromItsFirstByteToItsLast) {
  for (const std::string& header : {std::string("{}\0garbage", 10), std::string("\xef\xbb\xbf{}"), std::string(" {}"),
                                   std::string()}) {
    write(file, header, 0);
    EXPECT_EQ(error_of<FileError>([&] { load(file); }), file + ": its header is not a JSON object");
  }
  write(file, "{}  ", 0);
  EXPECT_TRUE(load(file).tensors.empty());
}

}  // namespace checkpoint_test
