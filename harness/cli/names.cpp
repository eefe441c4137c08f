#include "harness/cli/names.hpp"

#include <algorithm>
#include <utility>

namespace lastref::harness {
namespace {

constexpr std::size_t suggestions_max = 3;
constexpr std::size_t mistakes_max = 2;  // in a short name; in a long one a third of its length

/// The number of insertions, deletions and changes that turn one into the other, or a value above
/// `most` if there are more. Levenshtein 1966.
std::size_t distance(std::string_view one, std::string_view other, std::size_t most) {
  if (std::max(one.size(), other.size()) - std::min(one.size(), other.size()) > most) {
    return most + 1;
  }
  std::vector<std::size_t> row(other.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) {
    row[j] = j;
  }
  for (std::size_t i = 1; i <= one.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= other.size(); ++j) {
      const std::size_t change = diagonal + (one[i - 1] == other[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
    if (*std::ranges::min_element(row) > most) {
      return most + 1;
    }
  }
  return row.back();
}

}  // namespace

std::vector<std::string> nearest(std::string_view wanted, std::span<const std::string> names) {
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const std::string& name : names) {
    const bool within = !wanted.empty() && name.find(wanted) != std::string::npos;
    const std::size_t size = std::max(wanted.size(), name.size());
    const std::size_t most = std::max(mistakes_max, size / 3);
    const std::size_t away = within ? 0 : distance(wanted, name, most);
    if (away <= most && away < size) {
      near.emplace_back(away, name);
    }
  }
  std::ranges::sort(near);
  std::vector<std::string> found;
  for (std::size_t i = 0; i < std::min(near.size(), suggestions_max); ++i) {
    found.push_back(std::move(near[i].second));
  }
  return found;
}

std::string suggestion(std::string_view wanted, std::span<const std::string> names) {
  const std::vector<std::string> found = nearest(wanted, names);
  if (found.empty()) {
    return {};
  }
  std::string text = "; did you mean ";
  for (std::size_t i = 0; i < found.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == found.size() ? " or " : ", ") + found[i];
  }
  return text + "?";
}

}  // namespace lastref::harness
