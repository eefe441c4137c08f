#include "harness/oracle/results.hpp"

#include <algorithm>

#include "harness/instrument/fd_names.hpp"
#include "harness/platform/names.hpp"

namespace lastref::harness {
namespace oracle {
namespace {

/// Each part of a path under the name that it has in every run.
std::string path_without_chance(std::string_view path) {
  std::string text;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/', 1), path.size());
    const std::string_view part = path.substr(0, end);
    const bool is_world = part.substr(1).starts_with(folder_of_shared_world);
    text.append(part.starts_with('/') ? "/" : "").append(is_world ? "world" : object_of(part));
    path.remove_prefix(end);
  }
  return text;
}

/// Text before a path is kept.
std::string text_without_chance(std::string_view text) {
  const std::size_t slash = text.find('/');
  return slash == std::string_view::npos
             ? std::string(text)
             : std::string(text.substr(0, slash)) + path_without_chance(text.substr(slash));
}

void add_words(const Evidence& evidence, RunResults& results) {
  using Thread = std::pair<std::uint16_t, std::uint16_t>;
  std::map<Thread, std::vector<std::string>> under_way;
  std::map<std::string, int> counts;
  for (const Record& record : evidence.records) {
    std::vector<std::string>& words = under_way[{record.process, record.actor}];
    if (record.kind == RecordKind::operation_begin) {
      std::string word = std::string(record.role.view()) + ' ' + std::string(record.name.view()) +
                         ' ' + text_without_chance(record.text.view());
      const int k = ++counts[word];
      words.push_back(word + '#' + std::to_string(k));
    } else if (record.kind == RecordKind::operation_end && !words.empty()) {
      results[words.back()] =
          record.error != 0 ? name_of_error(record.error) : text_without_chance(record.text.view());
      words.pop_back();
    }
  }
}

/// A live cache has random content.
bool has_chance_in_it(std::string_view path) {
  return path.ends_with(".cache");
}

/// The number of records at the end of the run.
std::size_t end_of_run(std::span<const Record> records) {
  const auto next = std::ranges::find_if(records, [](const Record& record) {
    return is_fact(record, fact::born) && record.role == next_start_role;
  });
  return static_cast<std::size_t>(next - records.begin());
}

void add_files(const Evidence& evidence, RunResults& results) {
  for (const std::string& path : evidence.left) {
    results["left " + path_without_chance(path)];
  }
  const std::size_t end = end_of_run(evidence.records);
  for (const FileLook& look : evidence.files) {
    if (look.moment == end && !has_chance_in_it(look.path)) {
      results["left " + path_without_chance(look.path)] = std::to_string(hash_of(look.bytes));
    }
  }
}

}  // namespace

RunResults results_of(const Evidence& evidence) {
  RunResults results;
  add_words(evidence, results);
  add_files(evidence, results);
  return results;
}

}  // namespace oracle

std::vector<Plan> clean_plans_to_compare() {
  constexpr std::uint64_t orders = 15;
  std::vector<Plan> plans(1);
  for (std::uint64_t seed = 1; seed <= orders; ++seed) {
    plans.emplace_back().seed = seed;
  }
  for (Plan& plan : plans) {
    plan.wants_results = true;
  }
  return plans;
}

std::vector<Plan> more_plans_to_compare(const std::vector<Crossing>& clean) {
  std::set<Site> sites;
  for (const Crossing& crossing : clean) {
    sites.insert(crossing.site);
  }
  std::vector<Plan> plans;
  for (const Site& site : sites) {
    Plan& plan = plans.emplace_back();
    plan.faults = {{.site = site, .kind = FaultKind::pause}};
    plan.wants_results = true;
  }
  return plans;
}

void PossibleResults::add(const RunResults& results) {
  ++runs_;
  for (const auto& [result, value] : results) {
    ++values_[result][value];
  }
}

std::set<std::string> PossibleResults::of(std::string_view result) const {
  std::set<std::string> values;
  std::uint64_t runs = 0;
  if (const auto found = values_.find(result); found != values_.end()) {
    for (const auto& [value, count] : found->second) {
      values.insert(value);
      runs += count;
    }
  }
  if (runs < runs_) {
    values.insert("nothing");
  }
  return values;
}

}  // namespace lastref::harness
