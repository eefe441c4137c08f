#include "harness/warden/sweep_plan.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "harness/choice/choices.hpp"
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
  for (const int error : errors) {
    const bool can_happen = std::ranges::find(point.errors, error) != point.errors.end();
    if (actions.size() < errors_max && can_happen) {
      actions.push_back({.kind = FaultKind::fail_once, .error = error});
    }
  }
  const std::size_t first = std::min<std::size_t>(actions.size(), 1);
  actions.insert(actions.begin() + static_cast<std::ptrdiff_t>(first),
                 {{.kind = FaultKind::kill_after},
                  {.kind = FaultKind::send_sigterm},
                  {.kind = FaultKind::kill_before},
                  {.kind = FaultKind::send_sigint, .whole_tree = true}});
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

Result<Shard> parse_shard(std::string_view text) {
  Shard shard;
  const char* const end = text.data() + text.size();
  const auto number = std::from_chars(text.data(), end, shard.number);
  const bool has_slash = number.ec == std::errc{} && number.ptr != end && *number.ptr == '/';
  const auto all = std::from_chars(has_slash ? number.ptr + 1 : end, end, shard.all);
  if (!has_slash || all.ec != std::errc{} || all.ptr != end || shard.number < 1 ||
      shard.number > shard.all) {
    return failure(std::errc::invalid_argument,
                   "\"" + std::string(text) + "\" is not I/N, with I from 1 to N");
  }
  return shard;
}

std::vector<std::size_t> cells_of(const Shard& shard, std::size_t faults) {
  std::vector<std::size_t> cells;
  for (std::size_t at = shard.number - 1; at < faults; at += shard.all) {
    cells.push_back(at);
  }
  return cells;
}

std::vector<std::size_t> draw_cells(const std::vector<TreeFault>& faults,
                                    std::vector<std::size_t> cells,
                                    std::size_t count,
                                    std::uint64_t seed) {
  for (std::size_t left = cells.size(); left > 1; --left) {
    std::swap(cells[left - 1], cells[next_random(seed) % left]);
  }
  std::map<std::tuple<std::string, std::string, std::string, std::uint64_t>, std::size_t> rows;
  std::vector<std::pair<std::size_t, std::size_t>> order;
  for (const std::size_t cell : cells) {
    const TreeFault& fault = faults[cell];
    order.emplace_back(rows[{fault.role, fault.call, fault.object, fault.k}]++, cell);
  }
  std::ranges::stable_sort(order, {}, &std::pair<std::size_t, std::size_t>::first);
  order.resize(std::min(count, order.size()));
  cells.clear();
  std::ranges::transform(
      order, std::back_inserter(cells), &std::pair<std::size_t, std::size_t>::second);
  return cells;
}

}  // namespace lastref::harness::warden
