#include "harness/spec/rows.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace lastref::harness {
namespace {

constexpr Row table[] = {
    {"T1", "one tracker a tree, started at the first use, deaf to signals"},
    {"T2", "messages are whole or absent; names of any bytes but NUL"},
    {"T3", "register, forget and release count as they say"},
    {"T4", "each type has its clean-up; nonsense never ends the tracker"},
    {"T5", "the end of a tree cleans up what is left, folders last"},
    {"T6", "a killed tracker is replaced, and no count is lost"},
    {"T7", "files that cannot be removed are tried again, gone ones are not"},
    {"T8", "a client bears threads and forks; a death is the process's own"},
    {"T9", "a reference belongs to the process that holds it"},
    {"T10", "slow clean-up keeps no client waiting"},
    {"T11", "counts tells name, type, holder and count"},
    {"T12", "loky's clients and loky's tracker are understood"},
    {"R1", "a map with arrays as keys, which go with their arrays"},
    {"R2", "the map below a view is found"},
    {"R3", "every view of a file is rebuilt exactly"},
    {"R4", "a large array is dumped to one file, and sent as that"},
    {"R5", "all else travels by value"},
    {"R6", "a worker's temporaries travel back by value"},
    {"R7", "a receiver holds before it maps, and lets go after the last view"},
    {"R8", "maps open in numpy's modes"},
    {"R9", "a reducer travels to workers with every option"},
    {"R10", "prewarming by itself leaves shared memory alone"},
    {"R11", "the factory installs both reducers, and they tell what they do"},
    {"R12", "a file has its name when it is complete, or not at all"},
    {"R13", "folders and files are private from their first instant"},
    {"M1", "where temporary files go, and where instead"},
    {"M2", "contexts have folders, made at the first dump"},
    {"M3", "a folder goes at the latest with its process"},
    {"M4", "a context's files are let go of once"},
    {"M5", "clean-up by force takes what is left in the folder"},
    {"M6", "a folder that is not empty yet is tried again"},
    {"M7", "what a tree leaves that was killed whole goes at the next start"},
    {"B1", "each batch has one outcome and one call back"},
    {"B2", "the sequential backend runs at once, in the caller"},
    {"B3", "how many jobs a number of jobs means"},
    {"B4", "threads run batches; one job falls back to the caller"},
    {"B5", "worker processes start, or leave nothing; none below workers"},
    {"B6", "batches grow and shrink towards an ideal duration"},
    {"B7", "what a task throws comes back as an error"},
    {"B8", "an aborted pool starts again as it was"},
    {"B9", "a dead worker fails what is on its way at once"},
    {"B10", "ordered results; each call begins clean"},
    {"C1", "one file a cache; pfio's format in and out"},
    {"C2", "a slot is written once, and read by anybody"},
    {"C3", "safe between processes, threads and across fork"},
    {"C4", "data before index; a torn tail is never served"},
    {"C5", "a full cache freezes for every process"},
    {"C6", "the file goes with its creator, unless it is preserved"},
    {"C7", "preserve and preload are atomic, and trust no file"},
    {"C8", "one interface for files, memory and many processes"},
    {"C9", "durability is a choice"},
    {"E1", "descriptors 0 to 2 are the program's, whatever it has closed"},
    {"E2", "a name means what it meant when it was given, wherever the program goes"},
    {"E3", "sessions, sweeps and trees in one process do not touch each other"},
    {"E4", "what is removed is what was made"},
    {"E5", "clean-up never waits for a reader of standard error"},
    {"E6", "signals are the program's, in what it starts too"},
    {"E7", "no zombie stays, and wait() sees no child that the program did not start"},
    {"E8", "a forked child uses, destroys or ignores every object, in its own name"},
    {"E9", "exit from any thread, in any order, leaves nothing"},
    {"E10", "at a limit things work, or say which limit and where"},
    {"E11", "privilege is not lent to whoever starts the program"},
    {"E12", "nothing grows with the number of calls"},
    {"E13", "what user code does fails its own call, and nothing else"},
    {"E14", "file systems of all kinds are used safely, or refused"},
    {"E15", "a failed call aborts no program of a user"},
};

constexpr std::array<std::string_view, 6> definitions = {
    "TEST(", "TEST_F(", "TEST_P(", "TYPED_TEST(", "RC_GTEST_PROP(", "RC_GTEST_FIXTURE_PROP("};
constexpr std::string_view spaces = " \n";

bool reads_like_a_row(std::string_view token) {
  return token.size() > 1 && token.front() >= 'A' && token.front() <= 'Z' &&
         token.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

/// Removes the text before `end`, and `end`; returns it without surrounding spaces.
std::string_view take_until(std::string_view& text, char end) {
  const std::size_t size = text.find(end);
  std::string_view taken = text.substr(0, size);
  text.remove_prefix(size == std::string_view::npos ? text.size() : size + 1);
  taken.remove_prefix(std::min(taken.find_first_not_of(spaces), taken.size()));
  return taken.substr(0, taken.find_last_not_of(spaces) + 1);
}

/// Sorts names into rows.
class Sorter {
 public:
  explicit Sorter(std::span<const Row> rows) {
    for (const Row& row : rows) {
      proof_.rows.push_back({.row = row, .tests = {}, .scenarios = {}, .mutants = {}});
    }
  }

  using Part = std::vector<std::string> RowParts::*;

  void add(std::string_view row, Part part, std::string_view kind, const std::string& name) {
    const auto found =
        std::ranges::find(proof_.rows, row, [](const RowParts& parts) { return parts.row.id; });
    if (found == proof_.rows.end()) {
      proof_.strangers.push_back(fmt::format("{} {} names {}", kind, name, row));
    } else {
      ((*found).*part).push_back(name);
    }
  }

  RowProof end() && { return std::move(proof_); }

 private:
  RowProof proof_;
};

}  // namespace

std::span<const Row> all_rows() noexcept {
  return table;
}

std::vector<std::string> rows_of_test(std::string_view name) {
  std::vector<std::string> rows;
  take_until(name, '_');
  while (!name.empty()) {
    if (const std::string_view token = take_until(name, '_'); reads_like_a_row(token)) {
      rows.emplace_back(token);
    }
  }
  return rows;
}

std::string pattern_of_tests(std::string_view row) {
  return fmt::format("_{}([_/]|$)", row);
}

std::vector<std::string> tests_of_source(std::string_view text) {
  std::vector<std::string> tests;
  for (std::size_t at = 0; at < text.size(); at = std::min(text.find('\n', at), text.size()) + 1) {
    std::string_view rest = text.substr(at);
    const auto found = std::ranges::find_if(
        definitions, [rest](std::string_view begins) { return rest.starts_with(begins); });
    if (found == definitions.end()) {
      continue;
    }
    rest.remove_prefix(found->size());
    const std::string_view suite = take_until(rest, ',');
    // The arguments of a property follow its name.
    const std::string_view name = take_until(rest, found->starts_with("RC_") ? ',' : ')');
    tests.push_back(fmt::format("{}.{}", suite, name));
  }
  return tests;
}

Result<std::vector<std::string>> read_tests(const std::string& folder) {
  std::vector<std::string> tests;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().extension() != ".cpp") {
      continue;
    }
    std::ifstream stream(at->path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    if (!stream) {
      return failure(std::errc::io_error, at->path());
    }
    std::ranges::move(tests_of_source(text), std::back_inserter(tests));
  }
  if (error) {
    return failure(static_cast<std::errc>(error.value()), folder);
  }
  if (tests.empty()) {
    return failure(std::errc::no_such_file_or_directory, folder + ": no tests");
  }
  std::ranges::sort(tests);
  return tests;
}

RowProof prove(std::span<const Row> rows, const RowEvidence& evidence) {
  Sorter sorter(rows);
  for (const std::string& test : evidence.tests) {
    for (const std::string& row : rows_of_test(test)) {
      sorter.add(row, &RowParts::tests, "test", test);
    }
  }
  for (const Scenario& scenario : evidence.scenarios) {
    for (const std::string& row : scenario.rows) {
      sorter.add(row, &RowParts::scenarios, "scenario", scenario.name);
    }
  }
  for (const Ambient& ambient : evidence.ambients) {
    for (const std::string_view row : ambient.rows) {
      sorter.add(row, &RowParts::scenarios, "the", fmt::format("ambient {}", ambient.name));
    }
  }
  for (const Mutant& mutant : evidence.mutants) {
    sorter.add(mutant.row, &RowParts::mutants, "mutant", mutant.name);
  }
  return std::move(sorter).end();
}

std::vector<std::string> complaints(const RowProof& proof) {
  std::vector<std::string> all;
  for (const RowParts& parts : proof.rows) {
    if (!parts.row.is_built) {
      if (!parts.tests.empty() && !parts.scenarios.empty() && !parts.mutants.empty()) {
        all.push_back(
            fmt::format("{} has all its parts, but is marked as not built", parts.row.id));
      }
      continue;
    }
    if (parts.tests.empty()) {
      all.push_back(fmt::format("{} has no test", parts.row.id));
    }
    if (parts.scenarios.empty()) {
      all.push_back(fmt::format("{} has no scenario", parts.row.id));
    }
    if (parts.mutants.empty()) {
      all.push_back(fmt::format("{} has no mutant", parts.row.id));
    }
  }
  for (const std::string& stranger : proof.strangers) {
    all.push_back(stranger + ", which is not a row of the table");
  }
  return all;
}

}  // namespace lastref::harness
