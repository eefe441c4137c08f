#include "harness/spec/rows_text.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lastref::harness {
namespace {

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
