// Texts of rows: for people, for the README, for machines.
#pragma once

#include <optional>
#include <string>

#include "harness/spec/rows.hpp"

namespace lastref::harness {

/// Rows, and the checkout that tests and mutants were looked for in; none: they were not, and
/// nobody may take them for absent.
struct RowListing {
  RowProof proof;
  std::optional<std::string> checkout;
};

/// A line for each row, with how many there are of each part.
std::string to_text(const RowListing& listing);

/// Each row with the names of its parts.
std::string names_to_text(const RowListing& listing);

std::string to_json(const RowListing& listing);

}  // namespace lastref::harness
