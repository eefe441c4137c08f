#include "harness/spec/mutant.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <tuple>
#include <utility>

namespace lastref::harness {
namespace {

constexpr std::string_view suffix = ".patch";
constexpr std::string_view before = "--- a/";
constexpr std::string_view patched_folder = "impl/";
/// Names become arguments of commands.
constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyz0123456789_";

/// Removes and returns the next line of `text`.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

bool is_row(std::string_view text) {
  const std::string_view number = text.empty() ? text : text.substr(1);
  return !number.empty() && text.front() >= 'A' && text.front() <= 'Z' &&
         number.find_first_not_of("0123456789") == std::string_view::npos;
}

Status take_header(Mutant& mutant, std::string_view& text) {
  const auto bad = [&](std::string_view what) {
    return failure(std::errc::invalid_argument, mutant.name + ": " + std::string(what));
  };
  struct Field {
    std::string_view begins;
    std::string* into;
  };
  const Field fields[] = {
      {"Row: ", &mutant.row}, {"Origin: ", &mutant.origin}, {"Claim: ", &mutant.claim}};
  for (std::string_view line = take_line(text); !line.empty(); line = take_line(text)) {
    const auto* const field = std::ranges::find_if(
        fields, [line](const Field& each) { return line.starts_with(each.begins); });
    if (field == std::end(fields)) {
      return bad("not a header line: " + std::string(line));
    }
    if (!field->into->empty()) {
      return bad("given twice: " + std::string(line));
    }
    *field->into = line.substr(field->begins.size());
  }
  for (const Field& field : fields) {
    if (field.into->empty()) {
      return bad("has nothing after " + std::string(field.begins));
    }
  }
  return is_row(mutant.row) ? ok() : bad("not a row: " + mutant.row);
}

}  // namespace

bool row_is_before(std::string_view one, std::string_view other) noexcept {
  const auto key = [](std::string_view row) {
    return std::tuple(row.substr(0, 1), row.size(), row);
  };
  return key(one) < key(other);
}

Result<Mutant> parse_mutant(std::string name, std::string_view text) {
  Mutant mutant{.name = std::move(name), .row = {}, .origin = {}, .claim = {}, .files = {}};
  if (mutant.name.find_first_not_of(plain) != std::string::npos) {
    return failure(std::errc::invalid_argument, mutant.name + ": not a name of a_z0_9");
  }
  LASTREF_CHECK(take_header(mutant, text));
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (!line.starts_with(before)) {
      continue;
    }
    const std::string_view file = line.substr(before.size());
    if (!file.starts_with(patched_folder) || file.find("..") != std::string_view::npos) {
      return failure(std::errc::invalid_argument,
                     mutant.name + ": changes what is not in impl: " + std::string(file));
    }
    mutant.files.emplace_back(file);
  }
  if (mutant.files.empty()) {
    return failure(std::errc::invalid_argument, mutant.name + ": changes nothing");
  }
  return mutant;
}

Result<std::vector<Mutant>> read_mutants(const std::string& folder) {
  std::vector<Mutant> mutants;
  std::error_code error;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, error)) {
    const std::string file = entry.path().filename();
    if (!file.ends_with(suffix)) {
      continue;
    }
    std::ifstream stream(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    if (!stream) {
      return failure(std::errc::io_error, entry.path());
    }
    LASTREF_TRY(mutant, parse_mutant(file.substr(0, file.size() - suffix.size()), text));
    if (path_of(mutant) != std::filesystem::relative(entry.path(), folder)) {
      return failure(std::errc::invalid_argument,
                     entry.path().string() + ": by its row it should be " + path_of(mutant));
    }
    mutants.push_back(std::move(mutant));
  }
  if (mutants.empty()) {
    return failure(std::errc::no_such_file_or_directory, folder + ": no mutants");
  }
  std::ranges::sort(mutants, [](const Mutant& one, const Mutant& other) {
    return one.row == other.row ? one.name < other.name : row_is_before(one.row, other.row);
  });
  return mutants;
}

std::string path_of(const Mutant& mutant) {
  return mutant.row.substr(0, 1) + "/" + mutant.name + std::string(suffix);
}

}  // namespace lastref::harness
