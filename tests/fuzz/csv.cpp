// Any bytes as a table, read with options that the first of them chooses: numbers or a typed error; for plain tables, the
// numbers that the C library reads.
#include <gradual/data/csv.hpp>

#include <cmath>
#include <cstdlib>

#include "check.hpp"

using namespace gradual;

namespace {

CsvOptions options_of(unsigned char choice) {
  CsvOptions options;
  options.separator = ",;\t "[choice & 3];
  options.header = (choice & 4) != 0;
  if ((choice & 8) != 0) options.missing = {"", "NA"};
  if ((choice & 16) != 0) options.text = {{1, {}}};
  if ((choice & 32) != 0) options.skip = {0};
  if ((choice & 64) != 0) options.text = {{1, Categories({"a", "b"})}}, options.unknown = {{1, 2}};
  if ((choice & 128) != 0) options.decimal = ',', options.thousands = '.', options.missing.push_back("-1");
  return options;
}

/// Returns the numbers of a table with nothing but numbers and commas, as many in each line as in the first; else nothing.
template <class Real>
std::vector<Real> plain_numbers(const std::string& text) {
  if (text.empty() || text.find_first_not_of("0123456789.,\n-e") != text.npos) return {};
  std::vector<Real> numbers;
  std::size_t columns = 0, column = 0;
  for (const char* at = text.c_str(); *at != 0;) {
    char* end = nullptr;
    double value = 0;
    if constexpr (std::is_same_v<Real, float>) value = std::strtof(at, &end);
    else value = std::strtod(at, &end);
    if (*at == '\n' || end == at || !std::isfinite(value)) return {};
    numbers.push_back(static_cast<Real>(value));
    ++column;
    if (*end == '\n' || *end == 0) {
      if (columns != 0 && column != columns) return {};
      columns = column, column = 0;
    } else if (*end != ',' || end[1] == 0) {
      return {};
    }
    at = *end == 0 ? end : end + 1;
  }
  return column == 0 ? numbers : std::vector<Real>();
}

template <class Real>
void read(const std::string& text, const CsvOptions& options, bool plainly) {
  TableIn<Real> table;
  const bool refused = fuzz::refuses([&] { table = parse_csv<Real>(text, options); });
  if (plainly)
    if (const std::vector<Real> numbers = plain_numbers<Real>(text); !numbers.empty()) {
      fuzz::check(!refused, "plain numbers are read");
      fuzz::check(table.values == numbers, "plain numbers are those that the C library reads");
    }
  if (refused) return;
  fuzz::check(std::ssize(table.values) == table.rows * table.columns && table.rows > 0, "rows are whole");
  fuzz::check(table.names.empty() || std::ssize(table.names) == table.columns, "each column has its name");
  for (const Real value : table.values)
    fuzz::check(std::isfinite(value) || (value != value && !options.missing.empty()), "numbers are finite or missing");
  for (const auto& [column, categories] : table.text)
    for (const std::int32_t label : table.labels(column.text() == "column 1" && !options.skip.empty() ? TableColumn(0) : column))
      fuzz::check(label < categories.size() + std::ssize(options.unknown), "a text is one of its column's categories");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const unsigned char choice = static_cast<unsigned char>(data[0] - '0');
  const CsvOptions options = options_of(choice);
  const bool plainly = choice == 0;
  read<float>(text, options, plainly);
  read<double>(text, options, plainly);
  return 0;
}
