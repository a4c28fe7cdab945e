// What headers include of the standard library, for libraries whose headers include less of each other than this machine's.
// The project's own headers are seen to by clang/headers_alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <gradual/files/read_file.hpp>

namespace includes_test {

using namespace gradual;

using Names = std::set<std::string>;

/// The names that the library uses, behind the headers one of which must be included for them.
constexpr const char* standard_names = R"(
algorithm: all_of clamp copy copy_n count_if fill fill_n find find_if max max_element min none_of reverse sort stable_sort
algorithm: ranges::adjacent_find ranges::all_of ranges::any_of ranges::copy ranges::count ranges::count_if ranges::fill
algorithm: ranges::find ranges::find_if ranges::lower_bound ranges::max ranges::min_element ranges::minmax ranges::none_of
algorithm: ranges::partition_point ranges::sort ranges::transform ranges::upper_bound
array: array
array deque iterator map set span string string_view vector: data end size ssize
atomic: atomic atomic_ref memory_order_acquire memory_order_relaxed memory_order_release memory_order_seq_cst
barrier: barrier
bit: bit_cast bit_ceil bit_floor bit_width countl_zero countr_zero endian popcount
charconv: chars_format from_chars to_chars
charconv system_error: errc
chrono: chrono::duration chrono::steady_clock
cmath: abs floor frexp ilogb isfinite isnan ldexp signbit
concepts: convertible_to floating_point integral same_as
cstddef: byte nullptr_t ptrdiff_t
cstddef cstdio cstdlib cstring: size_t
cstdint: int16_t int32_t int64_t int8_t uint16_t uint32_t uint64_t uint8_t uintptr_t
cstdio: fflush fprintf fputc fputs rename snprintf
cstdlib: free
cstring: memcpy memmove memset strerror
deque: deque
deque map set string vector: erase erase_if
exception: current_exception exception exception_ptr make_exception_ptr rethrow_exception
functional: function greater identity less reference_wrapper unwrap_reference_t
initializer_list: initializer_list
iomanip: setw
iosfwd ostream: basic_ostream ostream
limits: numeric_limits
locale: locale
map: map multimap
memory: align make_shared make_unique shared_ptr unique_ptr
mutex: lock_guard mutex
new: align_val_t bad_alloc nothrow
numeric: accumulate gcd iota reduce
optional: nullopt optional
set: set
span: as_bytes as_writable_bytes span
sstream: ostringstream
stdexcept: logic_error runtime_error
string: string to_string wstring
string_view: string_view
system_error: error_code system_category system_error
thread: jthread this_thread::yield thread
tuple: apply tuple tuple_element_t
array tuple utility: get
type_traits: bool_constant conditional_t extent_v false_type integral_constant is_arithmetic_v is_class_v
type_traits: is_constant_evaluated is_convertible_v is_default_constructible_v is_empty_v is_floating_point_v is_integral_v
type_traits: is_same_v is_signed_v is_trivially_copyable_v is_unsigned_v is_void_v rank_v remove_all_extents_t
type_traits: remove_const_t remove_cv_t remove_cvref_t remove_pointer_t remove_reference_t true_type type_identity
type_traits: type_identity_t
utility: as_const declval exchange in_place_type index_sequence index_sequence_for integer_sequence make_index_sequence
utility: make_integer_sequence move pair swap
variant: variant visit
vector: vector
)"
// Concepts of ranges, without the rest of <ranges>, which takes a tenth of a second to compile: ranges of all libraries have
// them.
"array ranges span string string_view vector: ranges::borrowed_range ranges::range ranges::range_value_t\n";

const std::map<std::string, Names>& headers_of_names() {
  static const auto all = [] {
    std::map<std::string, Names> headers_of;
    std::istringstream lines(standard_names);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t colon = std::min(line.find(": "), line.size());
      std::istringstream headers(line.substr(0, colon)), names(line.substr(colon + (colon < line.size())));
      const Names one_of{std::istream_iterator<std::string>(headers), {}};
      for (std::string name; names >> name;) headers_of[name] = one_of;
    }
    return headers_of;
  }();
  return all;
}

Names matches(const std::string& text, const char* pattern) {
  Names found;
  const std::regex expression(pattern);
  for (std::sregex_iterator i(text.begin(), text.end(), expression), end; i != end; ++i) found.insert((*i)[1]);
  return found;
}

/// A header, or bodies of one, by its includes and what it names.
struct File {
  std::string text;  // without comments and strings
  Names standard, own, used;
};

const std::map<std::string, File>& files() {
  static const auto all = [] {
    const std::filesystem::path folder = std::filesystem::path(__FILE__).parent_path() / "../../include";
    std::map<std::string, File> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".hpp" && extension != ".ipp") continue;
      const std::regex comment_or_text(R"x(//.*|'"'|"(\\.|[^"\\\n])*")x");
      const std::string text = std::regex_replace(read_file(entry.path().string()), comment_or_text, "");
      files[entry.path().lexically_relative(folder).generic_string()] = {
          text, matches(text, "# *include <([a-z_]+)>"), matches(text, "# *include <(gradual/[^>]+\\.hpp)>"),
          matches(text, R"(\bstd::((?:ranges::|chrono::|this_thread::)?[a-z_0-9]+))")};
    }
    return files;
  }();
  return all;
}

/// Adds to `found` what a file includes of the standard library itself and through the project's headers.
void add_reached(const std::string& path, Names& seen, Names& found) {
  if (!seen.insert(path).second) return;
  const File& file = files().at(path);
  found.insert(file.standard.begin(), file.standard.end());
  for (const std::string& header : file.own) add_reached(header, seen, found);
}

bool has_one(const Names& some, const Names& of) {
  return std::any_of(of.begin(), of.end(), [&](const std::string& name) { return some.contains(name); });
}

std::string list(const Names& names) {
  std::string text;
  for (const std::string& name : names) text += " <" + name + ">";
  return text;
}

TEST(Includes, ReachWhatIsUsedOfTheStandardLibrary) {
  ASSERT_GT(files().size(), 500u);
  for (const auto& [path, file] : files()) {
    Names seen, found;
    add_reached(path, seen, found);
    for (const std::string& name : file.used) {
      const auto headers = headers_of_names().find(name);
      if (headers == headers_of_names().end())
        ADD_FAILURE() << path << ": std::" << name << " is in no row of this test";
      else
        EXPECT_TRUE(has_one(found, headers->second)) << path << ": std::" << name << " needs one of" << list(headers->second);
    }
  }
}

TEST(Includes, AreUsed) {
  std::map<std::string, Names> names_of;
  for (const auto& [name, headers] : headers_of_names())
    for (const std::string& header : headers) names_of[header].insert(name);
  for (const auto& [path, file] : files())
    for (const std::string& header : file.standard) {
      const bool used = !names_of.contains(header) || has_one(file.used, names_of[header]);
      EXPECT_TRUE(used) << path << " includes <" << header << ">";
    }
}

TEST(Includes, HappenOnce) {
  for (const auto& [path, file] : files()) {
    const bool around_others = path.ends_with("/hide_names.hpp") || path.ends_with("/restore_names.hpp");
    EXPECT_TRUE(file.text.starts_with("#pragma once\n") || around_others) << path;
  }
}

}  // namespace includes_test
