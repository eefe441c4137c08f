#include "harness/warden/points.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "harness/scenario/pattern.hpp"

namespace lastref::harness::warden {
namespace {

bool is_in_word(char sign) {
  return std::isalnum(static_cast<unsigned char>(sign)) != 0;
}

/// A pattern that matches both names, which are in the same folder; absent: they have too little in
/// common. Words that differ become a wildcard as a whole, because random words may begin alike.
std::optional<std::string> common_pattern(const std::string& one, const std::string& other) {
  if (one == other) {
    return pattern_of(one);
  }
  const std::size_t shorter = std::min(one.size(), other.size());
  std::size_t start = 0;
  while (start < shorter && one[start] == other[start]) {
    ++start;
  }
  while (start > 0 && is_in_word(one[start - 1])) {
    --start;
  }
  std::size_t end = 0;
  while (end < shorter - start && one[one.size() - 1 - end] == other[other.size() - 1 - end]) {
    ++end;
  }
  while (end > 0 && is_in_word(one[one.size() - end])) {
    --end;
  }
  if (one.substr(0, start).rfind('/') == std::string::npos || start == 1) {
    return std::nullopt;
  }
  return pattern_of(one.substr(0, start)) + '*' + pattern_of(one.substr(one.size() - end));
}

/// The names of a call, to find the most similar one without a comparison with each. A name is in
/// the index once for each of its beginnings that end between words, sorted by that, and then by
/// the bytes of the name from its end.
class NameIndex {
 public:
  void insert(const std::string& name) {
    for_each_beginning(name, [&](std::string key) { names_.emplace(std::move(key), name); });
  }

  /// A pattern that matches `name` and the most similar one of the index; empty: none is similar.
  std::string common_pattern_of(const std::string& name, std::uint64_t& comparisons) const {
    std::string best;
    const auto compare = [&](const std::string& other) {
      ++comparisons;
      std::string pattern = common_pattern(name, other).value_or("");
      if (pattern.size() > best.size()) {
        best = std::move(pattern);
      }
    };
    for_each_beginning(name, [&](const std::string& key) {
      // Of the names with this beginning, those before and after it have the longest common ending.
      const auto next = names_.lower_bound(key);
      if (next != names_.end()) {
        compare(next->second);
      }
      if (next != names_.begin()) {
        compare(std::prev(next)->second);
      }
    });
    return best;
  }

 private:
  template <typename Action>
  static void for_each_beginning(const std::string& name, const Action& action) {
    const std::string reversed(name.rbegin(), name.rend());
    for (std::size_t end = 2; end <= name.size(); ++end) {
      if (!is_in_word(name[end - 1])) {
        action(name.substr(0, end) + '\0' + reversed);
      }
    }
  }

  std::map<std::string, std::string> names_;
};

/// Maps the names of one run to those of another. If the runs diverge, a name that only this run
/// has is matched with the most similar one that only the other run has at the same call.
class NameMatcher {
 public:
  NameMatcher(const std::vector<CallSeen>& run, const std::vector<CallSeen>& other) {
    std::set<std::string_view> here;
    for (const CallSeen& call : run) {
      here.insert(call.object);
    }
    for (const CallSeen& call : other) {
      if (there_.insert(call.object).second && !here.contains(call.object)) {
        only_there_[call.call].insert(call.object);
      }
    }
  }

  void learn(const std::string& name, const std::string& pattern) { known_[name] = pattern; }

  std::string pattern_for(const CallSeen& call, std::uint64_t& comparisons) {
    if (const auto known = known_.find(call.object); known != known_.end()) {
      return known->second;
    }
    const std::string best =
        there_.contains(call.object)
            ? ""
            : only_there_[call.call].common_pattern_of(call.object, comparisons);
    if (best.empty()) {
      return pattern_of(call.object);
    }
    learn(call.object, best);
    return best;
  }

 private:
  std::set<std::string_view> there_;
  std::map<std::string_view, NameIndex> only_there_;  ///< By call
  std::map<std::string, std::string> known_;
};

/// With the role and the call
using SiteOfCall = std::tuple<std::string_view, std::string_view, std::vector<std::string>>;

SiteOfCall site_of(const CallSeen& call) {
  return {call.role, call.call, call.site.frames};
}

/// The calls of each process, in order.
using CallsByRole = std::map<std::string_view, std::vector<const CallSeen*>>;

CallsByRole by_role(const std::vector<CallSeen>& calls) {
  CallsByRole all;
  for (const CallSeen& call : calls) {
    all[call.role].push_back(&call);
  }
  return all;
}

const CallSeen* call_of(const CallsByRole& calls, std::string_view role, std::size_t at) {
  const auto its_own = calls.find(role);
  return its_own != calls.end() && at < its_own->second.size() ? its_own->second[at] : nullptr;
}

std::string name_of(const CallSeen* call) {
  return call == nullptr ? "none" : fmt::format("{}({})", call->call, call->object);
}

std::string difference_at(std::string_view role,
                          std::size_t at,
                          const CallSeen* one,
                          const CallSeen* other) {
  return fmt::format("call {} of {} is {} in one run, and {} in the other",
                     at + 1,
                     role,
                     name_of(one),
                     name_of(other));
}

/// A pattern may also match calls with other names. Equal patterns are compared once.
void count_again(Points& points, const std::vector<CallSeen>& run) {
  using Counts = std::map<std::string, std::uint64_t>;  // By pattern
  std::map<std::pair<std::string_view, std::string_view>, Counts> counts;
  for (const Point& point : points.all) {
    if (point.k == 0) {
      counts[{point.role, point.call}][point.object] = 0;
    }
  }
  for (std::size_t at = 0; at < points.all.size(); ++at) {
    Point& point = points.all[at];
    const auto found = counts.find({point.role, point.call});
    if (found == counts.end()) {
      continue;
    }
    for (auto& [pattern, count] : found->second) {
      ++points.comparisons;
      count += matches(pattern, run[at].object) ? 1U : 0U;
    }
    if (point.k == 0) {
      point.k = found->second[point.object];
    }
  }
}

}  // namespace

std::string Point::to_text() const {
  return fmt::format("{}/{}({})#{}", role, call, object, k);
}

Points points_of(const std::vector<CallSeen>& run, const std::vector<CallSeen>& other) {
  Points points;
  const CallsByRole there = by_role(other);
  NameMatcher matcher(run, other);
  std::set<SiteOfCall> sites;
  std::ranges::transform(other, std::inserter(sites, sites.end()), site_of);
  std::map<std::string_view, std::size_t> made;  ///< The number of calls of each process so far
  std::set<std::string_view> differs;
  const auto note =
      [&](std::string_view role, std::size_t at, const CallSeen* one, const CallSeen* two) {
        if (differs.insert(role).second && points.difference.empty()) {
          points.difference = difference_at(role, at, one, two);
        }
      };
  for (const CallSeen& call : run) {
    const std::size_t at = made[call.role]++;
    const CallSeen* const twin = call_of(there, call.role, at);
    std::optional<std::string> pattern;
    if (!differs.contains(call.role) && twin != nullptr && twin->call == call.call) {
      pattern = common_pattern(call.object, twin->object);
    }
    if (pattern) {
      matcher.learn(call.object, *pattern);
    } else {
      note(call.role, at, &call, twin);
      pattern = matcher.pattern_for(call, points.comparisons);
    }
    const bool is_exact = is_one_name(*pattern);
    points.all.push_back({.role = call.role,
                          .call = call.call,
                          .object = *std::move(pattern),
                          .k = is_exact ? call.k : 0,
                          .errors = call.errors,
                          .site = sites.contains(site_of(call)) ? call.site : Site()});
  }
  for (const auto& [role, calls] : there) {
    if (const CallSeen* const more = call_of(there, role, made[role])) {
      note(role, made[role], nullptr, more);
    }
  }
  count_again(points, run);
  return points;
}

}  // namespace lastref::harness::warden
