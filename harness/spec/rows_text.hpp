// Texts of rows: for reports, for the README, for machines.
#pragma once

#include <optional>
#include <string>

#include "harness/spec/rows.hpp"

namespace lastref::harness {

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
