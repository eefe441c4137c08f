#include "harness/warden/sweep_plan.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>

#include "harness/warden/likely_errors.hpp"
#include "harness/warden/syscalls.hpp"

namespace lastref::harness::warden {
namespace {

/// Those that programs meet most often first.
constexpr std::array errors = {ENOSPC, EACCES, EMFILE, ENOMEM, EAGAIN, EIO, EINTR, EPERM, ENOENT};
constexpr std::size_t errors_max = 3;  ///< of a point

bool is_below(std::string_view name, std::string_view folder) {
  return name.starts_with(folder) &&
         (name.size() == folder.size() || name[folder.size()] == '/' || folder.ends_with('/'));
}

/// Why a point is left out; nothing: it is chosen.
std::optional<std::string> reason_against(const Point& point,
                                          const std::vector<std::string>& folders) {
  if (point.call == "exit_group") {
    return "ends of processes";
  }
  if (point.call.starts_with("exec")) {
    return "starts of programs";
  }
  if (!point.object.starts_with('/')) {
    return std::nullopt;
  }
  const bool is_chosen = std::ranges::any_of(
      folders, [&](const std::string& folder) { return is_below(point.object, folder); });
  return is_chosen ? std::nullopt : std::optional<std::string>("names in other folders");
}

std::vector<FaultAction> actions_at(const Point& point) {
  std::vector<FaultAction> actions;
  const Where where = where_is(point.object);
  for (const int error : errors) {
    if (actions.size() < errors_max && is_likely(point.call, error, where)) {
      actions.push_back({.kind = FaultKind::fail_once, .error = error});
    }
  }
  const std::size_t first = std::min<std::size_t>(actions.size(), 1);
  actions.insert(actions.begin() + static_cast<std::ptrdiff_t>(first),
                 {{.kind = FaultKind::kill_after}, {.kind = FaultKind::kill_before}});
  return actions;
}

}  // namespace

const std::vector<std::string>& calls_of_sweep() {
  static const std::vector<std::string> calls = [] {
    std::vector<std::string> known;
    for (const char* name : {"clone",
                             "clone3",
                             "fork",
                             "vfork",
                             "pipe2",
                             "socket",
                             "write",
                             "pwrite64",
                             "fsync",
                             "fdatasync",
                             "connect"}) {
      if (syscall_named(name) != nullptr) {
        known.emplace_back(name);
      }
    }
    return known;
  }();
  return calls;
}

SweepPlan plan_sweep(const std::vector<Point>& points, const std::vector<std::string>& folders) {
  SweepPlan plan;
  std::set<std::tuple<std::string, std::string_view, std::string>> seen;
  std::vector<std::vector<TreeFault>> columns;
  for (const Point& each : points) {
    if (auto reason = reason_against(each, folders)) {
      ++plan.left_out[*std::move(reason)];
      continue;
    }
    if (!seen.emplace(each.role, each.call, each.object).second) {
      ++plan.left_out["later calls on the same object"];
      continue;
    }
    ++plan.points;
    std::vector<TreeFault>& faults = columns.emplace_back();
    for (const FaultAction& action : actions_at(each)) {
      faults.push_back({.role = each.role,
                        .call = std::string(each.call),
                        .object = each.object.empty() ? "*" : each.object,
                        .k = each.k,
                        .last = each.k,
                        .action = action});
    }
  }
  for (std::size_t row = 0, left = 1; left > 0; ++row) {
    left = 0;
    for (const std::vector<TreeFault>& column : columns) {
      if (row < column.size()) {
        plan.faults.push_back(column[row]);
        ++left;
      }
    }
  }
  return plan;
}

}  // namespace lastref::harness::warden
