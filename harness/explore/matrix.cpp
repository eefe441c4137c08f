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

bool can_be_in(FaultPhase phase, const Seen& seen) {
  switch (phase) {
    case FaultPhase::before:
      return true;
    case FaultPhase::during_write:
      return seen.may_be_cut;
    case FaultPhase::blocked:
      return seen.waited;
    case FaultPhase::at_limit:
      return seen.waited_with_limit;
    case FaultPhase::after:
      return seen.came_back;
  }
  LASTREF_ASSERT(false);
}

/// Whether the product starts another process in its place when it has ended.
bool is_started_again(const Site& site) {
  const std::string_view role = base_of(site.role);
  return role == tracker_role || role.starts_with(worker_role);
}

/// A socket that stays full is not reported as writable, and one without a message not as readable.
bool passes(const Site& site, int error) {
  const bool is_of_socket = site.name == name_of(Call::send) || site.name == name_of(Call::receive);
  return error == EINTR || (error == EAGAIN && is_of_socket);
}

bool can_last(FaultDuration duration, const Site& site, int error) {
  switch (duration) {
    case FaultDuration::once:
      return true;
    case FaultDuration::in_process:
      return !passes(site, error);
    case FaultDuration::in_role:
      return !passes(site, error) && is_started_again(site) && site.k == 1;
  }
  LASTREF_ASSERT(false);
}

/// Adds all faults of one row at a site. `call` is nullptr for a step.
void add_faults(const FaultRow& row,
                const Site& site,
                const CallRow* call,
                std::vector<Fault>& to) {
  const Fault fault{.site = site, .kind = row.kind};
  switch (row.effect) {
    case FaultEffect::kill:
      to.push_back(fault);
      if (row.phase == FaultPhase::before) {
        to.push_back({.site = site, .kind = row.kind, .whole_tree = true});
      }
      break;
    case FaultEffect::fail:
      for (const auto& [error, in_tracker, elsewhere] :
           call == nullptr ? std::span<const ErrorRow>() : call->errors) {
        if (can_last(row.duration, site, error)) {
          to.push_back({.site = site, .kind = row.kind, .error = error});
        }
      }
      break;
    case FaultEffect::shorten:
      if (call != nullptr && has(call->traits, Traits::shortens)) {
        to.push_back(fault);
      }
      break;
    case FaultEffect::interrupt:
      // An interrupt may end any process except a tracker (T1).
      if (base_of(site.role) == tracker_role) {
        to.push_back(fault);
      }
      break;
    case FaultEffect::expire:
    case FaultEffect::pause:
      to.push_back(fault);
      break;
    case FaultEffect::stop:
    case FaultEffect::send:
    case FaultEffect::outsider:
      break;
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
    const CallRow* const call = row_called(site.name);
    for (const FaultRow& row : fault_rows()) {
      if (row.where != FaultWhere::watched && can_be_in(row.phase, seen)) {
        add_faults(row, site, call, faults);
      }
    }
  }
  std::ranges::sort(faults);
  return faults;
}

}  // namespace lastref::harness
