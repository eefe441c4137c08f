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
#include <nlohmann/json.hpp>

namespace lastref::harness {
namespace {

constexpr Row table[] = {
    {"T1", "one tracker per tree, started at the first use, which ignores signals"},
    {"T2", "messages are whole or absent; names of any bytes but NUL"},
    {"T3", "register, forget and release count as documented"},
    {"T4", "each type has its clean-up; invalid messages never end the tracker"},
    {"T5", "the end of a tree cleans up the leftovers, folders last"},
    {"T6", "a killed tracker is replaced, and no count is lost"},
    {"T7", "files that cannot be removed are retried, missing ones are not"},
    {"T8", "a client works with threads and forks; a process is dead only when it has ended"},
    {"T9", "a reference belongs to the process that holds it"},
    {"T10", "slow clean-up delays no client"},
    {"T11", "counts returns name, type, holder and count"},
    {"T12", "compatible with loky's clients and loky's tracker"},
    {"R1", "a map with arrays as keys; an entry is removed with its array"},
    {"R2", "the map below a view is found"},
    {"R3", "every view of a file is rebuilt exactly"},
    {"R4", "a large array is dumped to one file, which is sent"},
    {"R5", "all other arrays travel by value"},
    {"R6", "a worker's arrays in temporary files travel back by value"},
    {"R7", "a receiver holds before it maps, and releases after the last view"},
    {"R8", "maps open in numpy's modes"},
    {"R9", "a reducer travels to workers with every option"},
    {"R10", "automatic prewarming leaves shared memory alone"},
    {"R11", "the factory installs both reducers, which report their actions"},
    {"R12", "a file gets its name only when it is complete"},
    {"R13", "folders and files are private from their creation"},
    {"M1", "locations of temporary files, and alternatives"},
    {"M2", "contexts have folders, created at the first dump"},
    {"M3", "a folder is removed at the latest with its process"},
    {"M4", "a context's files are released once"},
    {"M5", "forced clean-up removes everything left in the folder"},
    {"M6", "the removal of a folder that is not empty yet is retried"},
    {"M7", "the next start removes the leftovers of a tree that was killed completely"},
    {"B1", "each batch has one outcome and one callback"},
    {"B2", "the sequential backend runs tasks at once, in the caller"},
    {"B3", "number of jobs for each value of n_jobs"},
    {"B4", "threads run batches; one job runs in the caller"},
    {"B5", "worker processes start, or leave nothing; workers start none"},
    {"B6", "batches grow and shrink towards an ideal duration"},
    {"B7", "an exception of a task is returned as an error"},
    {"B8", "an aborted pool restarts with the same options"},
    {"B9", "a dead worker fails all batches in flight at once"},
    {"B10", "ordered results; no call depends on an earlier one"},
    {"C1", "one file per cache; pfio's format in and out"},
    {"C2", "a slot is written once, and read by any process"},
    {"C3", "safe between processes, threads and across fork"},
    {"C4", "data before index; a torn tail is never served"},
    {"C5", "a full cache freezes for every process"},
    {"C6", "the file is removed with its creator, unless it is preserved"},
    {"C7", "preserve and preload are atomic, and check every file"},
    {"C8", "one interface for files, memory and many processes"},
    {"C9", "durability is an option"},
    {"L1", "a pool calls functions of the program in worker processes, and waits for them"},
    {"L2", "each element has one result; those of a map are in order"},
    {"L3", "a death costs only the task that ran, and the worker is replaced"},
    {"L4", "a timeout ends only the task that exceeds it"},
    {"L5", "an attempt calls its function at most once; only failed tasks are retried"},
    {"L6", "what is cancelled or left stops, costs no other task, and frees its workers"},
    {"L7", "workers write an array of zeros in place; its file ends with the last view"},
    {"L8", "a worker gets shared arguments once per call, and loads its state once"},
    {"L9", "workers are replaced after a number of tasks; never more run than asked"},
    {"L10", "any thread uses a pool, in no forked process; a failed call costs only itself"},
    {"L11", "a cache of values by key continues where the last run ended"},
    {"L12", "one computation per key, over all processes and threads"},
    {"L13", "a size limit evicts the least recently used, or refuses; views stay"},
    {"L14", "a kill, a failed call or a bad file leaves whole entries"},
    {"L15", "a pool in a worker calls functions in threads of it; pools in these have none"},
    {"L16", "large values travel through files, which end with their arrival"},
    {"E1", "descriptors 0 to 2 belong to the program, even if it has closed them"},
    {"E2", "a relative name is resolved when it is given"},
    {"E3", "sessions, sweeps and trees in one process do not affect each other"},
    {"E4", "only files that were created are removed"},
    {"E5", "clean-up never waits for a reader of standard error"},
    {"E6", "signals belong to the program, also in processes that it starts"},
    {"E7", "no zombie remains, and wait() sees no child that the program did not start"},
    {"E8", "a forked child may use or destroy every object, with its own identity"},
    {"E9", "exit from any thread, in any order, leaves nothing"},
    {"E10", "at a limit, calls work or report the limit and where it is"},
    {"E11", "a privileged program gives no rights to the user that starts it"},
    {"E12", "nothing grows with the number of calls"},
    {"E13", "a failure of user code fails its own call, and nothing else"},
    {"E14", "file systems of all kinds are used safely, or refused"},
    {"E15", "a failed call never aborts the program"},
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

using Json = nlohmann::ordered_json;

constexpr std::string_view unseen = "?";

std::string name_of(const Row& row) {
  return fmt::format("{}{}", row.name, row.is_built ? "" : " (not built yet)");
}

/// The number of parts, if they were searched for.
std::string count_of(const std::vector<std::string>& part, bool seen) {
  return seen ? std::to_string(part.size()) : std::string(unseen);
}

std::string part_to_text(std::string_view kind, const std::vector<std::string>& part, bool seen) {
  if (!seen || part.empty()) {
    return fmt::format("     {:<10} {}\n", kind, seen ? "none" : unseen);
  }
  std::string text;
  for (const std::string& name : part) {
    text += fmt::format("     {:<10} {}\n", &name == part.data() ? kind : "", name);
  }
  return text;
}

}  // namespace

std::span<const Row> all_rows() noexcept {
  return table;
}

std::vector<std::string> rows_of_test(std::string_view name) {
  std::vector<std::string> rows;
  take_until(name, '_');
  while (!name.empty()) {
    std::string_view token = take_until(name, '_');
    token = take_until(token, '.');  // A suite may name rows, too.
    if (reads_like_a_row(token)) {
      rows.emplace_back(token);
    }
  }
  return rows;
}

std::string pattern_of_tests(std::string_view row) {
  return fmt::format("_{}([_/.]|$)", row);
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

std::string to_text(const RowListing& listing) {
  std::size_t width = 0;
  for (const RowParts& parts : listing.proof.rows) {
    width = std::max(width, name_of(parts.row).size());
  }
  std::string text = fmt::format(
      "{:<4} {:<{}} {:>6} {:>10} {:>8}\n", "row", "", width, "tests", "scenarios", "mutants");
  const bool seen = listing.checkout.has_value();
  for (const RowParts& parts : listing.proof.rows) {
    text += fmt::format("{:<4} {:<{}} {:>6} {:>10} {:>8}\n",
                        parts.row.id,
                        name_of(parts.row),
                        width,
                        count_of(parts.tests, seen),
                        parts.scenarios.size(),
                        count_of(parts.mutants, seen));
  }
  return text;
}

std::string names_to_text(const RowListing& listing) {
  const bool seen = listing.checkout.has_value();
  std::string text;
  for (const RowParts& parts : listing.proof.rows) {
    text += fmt::format("{:<4} {}\n", parts.row.id, name_of(parts.row));
    text += part_to_text("tests", parts.tests, seen);
    text += part_to_text("scenarios", parts.scenarios, true);
    text += part_to_text("mutants", parts.mutants, seen);
  }
  return text;
}

std::string to_json(const RowListing& listing) {
  const bool seen = listing.checkout.has_value();
  Json json;
  json["checkout"] = seen ? Json(*listing.checkout) : Json(nullptr);
  json["rows"] = Json::array();
  for (const RowParts& parts : listing.proof.rows) {
    json["rows"].push_back({{"row", parts.row.id},
                            {"name", parts.row.name},
                            {"built", parts.row.is_built},
                            {"tests", seen ? Json(parts.tests) : Json(nullptr)},
                            {"scenarios", parts.scenarios},
                            {"mutants", seen ? Json(parts.mutants) : Json(nullptr)}});
  }
  json["complaints"] = seen ? Json(complaints(listing.proof)) : Json(nullptr);
  return json.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

}  // namespace lastref::harness
