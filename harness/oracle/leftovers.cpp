#include "harness/oracle/leftovers.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "harness/oracle/operations.hpp"

namespace lastref::harness::oracle {

namespace {

/// The path in normal form.
std::filesystem::path normal(std::string_view path) {
  return std::filesystem::path(path).lexically_normal();
}

}  // namespace

bool may_stay(const Scenario& scenario, std::string_view path) {
  return std::ranges::any_of(scenario.stays, [&](std::string_view resource) {
    const std::size_t colon = resource.find(':');
    const std::string_view type = resource.substr(0, colon);
    std::string name(resource.substr(colon == std::string_view::npos ? 0 : colon + 1));
    name.erase(0, name.rfind('/') + 1);
    if (type == "shm" || type == "semlock") {
      return path == (type == "shm" ? "/dev/shm/" : "/dev/shm/sem.") + name;
    }
    const std::string middle = '/' + name + '/';
    return path.ends_with('/' + name) ||
           (type == "folder" && path.find(middle) != std::string_view::npos);
  });
}

bool is_promised(const Evidence& evidence) {
  return !evidence.scenario.no_ledger ||
         std::ranges::none_of(evidence.records, [](const Record& record) {
           return is_tracker(record) &&
                  (record.injected || (is_fact(record, fact::died) && record.text != fact::ended));
         });
}

bool was_said_to_be_gone(const Evidence& evidence, std::string_view path) {
  // A tracker checks twice, but not if something else goes wrong as well. The next start checks
  // once.
  const std::vector<Fault>& faults = evidence.plan.faults;
  const bool comes_again = std::ranges::any_of(
      faults, [](const Fault& fault) { return is_for_ever(fault.kind) && fault.error == ENOENT; });
  const bool looks_once = comes_again || faults.size() > 1;
  const std::string_view root = leader_in(evidence.records);
  return std::ranges::any_of(evidence.records, [&](const Record& record) {
    const bool cleans_up = looks_once && (is_tracker(record) || record.role == root);
    return record.call == Call::status_at && record.injected && record.error == ENOENT &&
           (cleans_up || record.role == next_start_role) &&
           normal(record.text.view()) == normal(journal_text(path));
  });
}

Leftovers leftovers_of(const Evidence& evidence) {
  Leftovers leftovers;
  const bool promised = is_promised(evidence);
  for (const std::string& path : evidence.left_after_sweep) {
    const NameKind kind = kind_of_name(path);
    if (may_stay(evidence.scenario, path)) {
      leftovers.permitted.add(WhyPermitted::scenario, kind);
    } else if (!promised) {
      leftovers.permitted.add(WhyPermitted::no_ledger, kind);
    } else if (was_said_to_be_gone(evidence, path)) {
      leftovers.permitted.add(WhyPermitted::said_to_be_gone, kind);
    } else {
      ++leftovers.promised;
    }
  }
  return leftovers;
}

}  // namespace lastref::harness::oracle
