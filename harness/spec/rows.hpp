// Rows: the numbered items of the specification, and what covers each of them.
//
// A row is covered by three parts: tests, which have its id as a token of their names ("..._T9",
// "..._T3_T9"); scenarios, which list it; and mutants, which break it, and which a test or a
// scenario of the same row has to detect. An ambient of the gate in which every scenario shows the
// row counts as a scenario of it. The table also has rows that are not built yet, so that they do
// not count as done.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/scenario/ambient.hpp"
#include "harness/scenario/scenario.hpp"
#include "harness/spec/mutant.hpp"

namespace lastref::harness {

struct Row {
  std::string_view id;    ///< "T9"
  std::string_view name;  ///< A few words for reports.
  bool is_built = true;
};

/// The table, in the order of the specification.
std::span<const Row> all_rows() noexcept;

/// The tokens of a test's name that look like ids of rows, whether or not there are such rows.
std::vector<std::string> rows_of_test(std::string_view name);

/// The pattern of ctest -R for the tests of a row, and no others.
std::string pattern_of_tests(std::string_view row);

/// The tests that a source defines, each as "Suite.name". A definition starts at the start of a
/// line.
std::vector<std::string> tests_of_source(std::string_view text);

/// The tests of all sources below `folder`. Fails if one cannot be read, or there is no test.
Result<std::vector<std::string>> read_tests(const std::string& folder);

/// The names of the tests, scenarios and mutants of a row.
struct RowParts {
  Row row;
  std::vector<std::string> tests;
  std::vector<std::string> scenarios;  ///< Includes "ambient closed".
  std::vector<std::string> mutants;
};

/// The coverage of all rows.
struct RowProof {
  std::vector<RowParts> rows;  ///< One for each row of the table.
  /// "test Suite.name_T99", for names that mention a row that is not in the table.
  std::vector<std::string> strangers;
};

/// The tests, scenarios and mutants to cover rows with.
struct RowEvidence {
  std::span<const std::string> tests;
  std::span<const Scenario> scenarios;
  std::span<const Ambient> ambients;
  std::span<const Mutant> mutants;
};

RowProof prove(std::span<const Row> table, const RowEvidence& evidence);

/// A sentence for each part that a row lacks, for each row that is marked as not built although it
/// has all its parts, and for each name of an unknown row.
std::vector<std::string> complaints(const RowProof& proof);

/// Rows, and the checkout in which tests and mutants were searched; empty: there was no search, so
/// they are not reported as absent.
struct RowListing {
  RowProof proof;
  std::optional<std::string> checkout;
};

/// A line for each row, with the number of each part.
std::string to_text(const RowListing& listing);

/// Each row with the names of its parts.
std::string names_to_text(const RowListing& listing);

std::string to_json(const RowListing& listing);

}  // namespace lastref::harness
