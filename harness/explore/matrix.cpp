#include "harness/explore/matrix.hpp"

#include <algorithm>
#include <cerrno>
#include <map>

#include <lastref/call.hpp>

namespace lastref::harness {
namespace {

constexpr std::string_view tracker_role = "tracker";
constexpr std::string_view worker_role = "worker";

/// The observations of a clean run at one site.
struct Seen {
  bool waited = false;
  bool came_back = false;
  bool may_be_cut = false;
  bool waited_with_limit = false;
};

const CallRow* row_called(std::string_view method) {
  const auto rows = call_rows();
  const auto found = std::ranges::find(rows, method, &CallRow::method);
  return found == rows.end() ? nullptr : &*found;
}

void add_kills_and_times(const Site& site, const Seen& seen, std::vector<Fault>& faults) {
  faults.push_back({.site = site, .kind = FaultKind::kill_before});
  faults.push_back({.site = site, .kind = FaultKind::kill_before, .whole_tree = true});
  if (seen.came_back) {
    faults.push_back({.site = site, .kind = FaultKind::kill_after});
    faults.push_back({.site = site, .kind = FaultKind::pause});
  }
  if (seen.may_be_cut) {
    faults.push_back({.site = site, .kind = FaultKind::kill_amid});
  }
  if (seen.waited_with_limit) {
    faults.push_back({.site = site, .kind = FaultKind::time_out});
    faults.push_back({.site = site, .kind = FaultKind::time_out_always});
  }
  if (seen.waited) {
    faults.push_back({.site = site, .kind = FaultKind::kill_blocked});
  }
}

/// Any interrupted process may die of it, except a tracker (T1).
void add_interrupts(const Site& site, std::vector<Fault>& faults) {
  if (base_of(site.role) == tracker_role) {
    faults.push_back({.site = site, .kind = FaultKind::interrupt});
  }
}

/// Whether the product starts another process in its place when it has ended.
bool is_started_again(const Site& site) {
  const std::string_view role = base_of(site.role);
  return role == tracker_role || role.starts_with(worker_role);
}

void add_failures(const Site& site, const CallRow& row, std::vector<Fault>& faults) {
  for (const auto& [error, in_tracker, elsewhere] : row.errors) {
    faults.push_back({.site = site, .kind = FaultKind::fail_once, .error = error});
    if (error != EINTR) {
      faults.push_back({.site = site, .kind = FaultKind::fail_always, .error = error});
      if (is_started_again(site) && site.k == 1) {
        faults.push_back({.site = site, .kind = FaultKind::fail_in_all, .error = error});
      }
    }
  }
  if (has(row.traits, Traits::shortens)) {
    faults.push_back({.site = site, .kind = FaultKind::shorten});
  }
}

}  // namespace

std::vector<Fault> matrix_of(std::span<const Crossing> clean) {
  std::map<Site, Seen> sites;
  for (const Crossing& crossing : clean) {
    Seen& seen = sites[crossing.site];
    seen.waited |= crossing.waited;
    seen.came_back |= crossing.error != -1;
    seen.may_be_cut |= crossing.may_be_cut;
    seen.waited_with_limit |= crossing.waited && crossing.has_limit;
  }
  std::vector<Fault> faults;
  for (const auto& [site, seen] : sites) {
    if (is_allocation(site)) {
      faults.push_back({.site = site, .kind = FaultKind::fail_once, .error = ENOMEM});
      faults.push_back({.site = site, .kind = FaultKind::fail_always, .error = ENOMEM});
      continue;
    }
    add_kills_and_times(site, seen, faults);
    add_interrupts(site, faults);
    if (const CallRow* row = row_called(site.name); row != nullptr) {
      add_failures(site, *row, faults);
    }
  }
  std::ranges::sort(faults);
  return faults;
}

}  // namespace lastref::harness
