#include "harness/warden/sweep_plan.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

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

/// @param is_alone  No other process can make a call while one waits.
std::vector<FaultAction> actions_at(const Point& point, bool is_alone) {
  std::vector<FaultAction> actions;
  for (const int error : errors) {
    // EAGAIN of a pipe says that it is full. So programs rely on its reader to be awake, which it
    // may not be if the error was injected.
    const bool is_full = error == EAGAIN && point.call == "write" && point.object == "pipe";
    const bool can_happen =
        !is_full && std::ranges::find(point.errors, error) != point.errors.end();
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
  if (!is_alone) {
    actions.push_back({.kind = FaultKind::pause});
  }
  return actions;
}

bool starts_process(const Point& point) {
  constexpr std::array calls = {"clone", "clone3", "fork", "vfork"};
  return std::ranges::find(calls, point.call) != calls.end();
}

/// Two sizes at which a program that has had that many bytes lacks some. They are powers of two,
/// which other runs and machines choose, too. Smaller ones are those of the loader.
std::vector<std::uint64_t> address_spaces_below(std::uint64_t peak) {
  constexpr std::uint64_t least = std::uint64_t{8} << 20U;
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t size = peak <= least ? 0 : std::bit_floor(peak - 1);
       size >= least && sizes.size() < 2;
       size /= 2) {
    sizes.push_back(size);
  }
  return sizes;
}

/// Limits that are too low for most programs, but not for their loader.
std::vector<std::string> world_faults(const std::vector<const Point*>& chosen,
                                      const SweptWorld& world) {
  const auto is_any = [&](const auto& has) {
    return std::ranges::any_of(chosen, [&](const Point* each) { return has(*each); });
  };
  std::vector<std::string> faults;
  if (!chosen.empty()) {
    faults = {"limit nofile=4", "limit nofile=8"};
  }
  if (world.limits_processes && is_any(starts_process)) {
    faults.emplace_back("limit nproc=1");
  }
  const auto fills_disk = [](const Point& point) {
    return std::ranges::find(point.errors, ENOSPC) != point.errors.end();
  };
  if (is_any(fills_disk)) {
    faults.emplace_back("limit fsize=1k");
  }
  if (!chosen.empty()) {
    for (const std::uint64_t bytes : address_spaces_below(world.peak_memory)) {
      faults.push_back(fmt::format("limit as={}m", bytes >> 20U));
    }
  }
  for (const std::string& folder : world.to_fill) {
    if (is_any([&](const Point& point) { return is_below(point.object, folder); })) {
      faults.push_back(fmt::format("private {}=4k", folder));
      faults.push_back(fmt::format("private {}=1m,1", folder));  // Its root is the only name.
    }
  }
  return faults;
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

std::vector<std::string> SweepPlan::texts() const {
  std::vector<std::string> texts;
  std::ranges::transform(
      faults, std::back_inserter(texts), [](const TreeFault& each) { return to_text(each); });
  texts.insert(texts.end(), of_whole_runs.begin(), of_whole_runs.end());
  return texts;
}

namespace {

/// Gives the sites of a plan their numbers. A site that is not known is one alone.
class Sites {
 public:
  explicit Sites(SweepPlan& plan) : plan_(plan) {}

  std::size_t number_of(const Point& point) {
    const std::size_t next = plan_.site_names.size();
    const std::vector<std::string>& frames = point.site.frames;
    const std::size_t number =
        frames.empty() ? next
                       : numbers_.try_emplace({point.role, point.call, frames}, next).first->second;
    if (number == next) {
      plan_.site_names.push_back(point.site.shown);
    }
    return number;
  }

 private:
  using Key = std::tuple<std::string, std::string_view, std::vector<std::string>>;
  SweepPlan& plan_;
  std::map<Key, std::size_t> numbers_;
};

/// The faults of a point
struct Column {
  std::size_t site = 0;
  std::vector<TreeFault> faults = {};
};

/// One of each point, then the next one of each
void add_faults(SweepPlan& plan, const std::vector<Column>& columns) {
  for (std::size_t row = 0, left = 1; left > 0; ++row) {
    left = 0;
    for (const auto& [site, faults] : columns) {
      if (row < faults.size()) {
        plan.faults.push_back(faults[row]);
        plan.sites.push_back(site);
        ++left;
      }
    }
  }
}

}  // namespace

SweepPlan plan_sweep(const std::vector<Point>& points, const SweptWorld& world) {
  SweepPlan plan;
  const bool is_alone = std::ranges::none_of(
      points, [&](const Point& each) { return each.role != points.front().role; });
  std::vector<const Point*> chosen;
  std::set<std::tuple<std::string, std::string_view, std::string, std::vector<std::string>>> seen;
  std::vector<Column> columns;
  Sites sites(plan);
  for (const Point& each : points) {
    if (auto reason = reason_against(each, world.folders)) {
      ++plan.left_out[*std::move(reason)];
      continue;
    }
    if (!seen.emplace(each.role, each.call, each.object, each.site.frames).second) {
      ++plan.left_out["later calls on the same object"];
      continue;
    }
    ++plan.points;
    chosen.push_back(&each);
    Column& column = columns.emplace_back();
    column.site = sites.number_of(each);
    for (const FaultAction& action : actions_at(each, is_alone)) {
      column.faults.push_back({.role = each.role,
                               .call = std::string(each.call),
                               .object = each.object.empty() ? "*" : each.object,
                               .k = each.k,
                               .last = each.k,
                               .action = action});
    }
  }
  add_faults(plan, columns);
  plan.of_whole_runs = world_faults(chosen, world);
  return plan;
}

std::set<std::size_t> repeats_in(const SweepPlan& plan, const std::vector<std::size_t>& cells) {
  std::set<std::pair<std::size_t, std::string>> seen;
  std::set<std::size_t> repeats;
  for (const std::size_t cell : cells) {
    const bool is_at_point = cell < plan.faults.size();
    if (is_at_point && !seen.emplace(plan.sites[cell], to_text(plan.faults[cell].action)).second) {
      repeats.insert(cell);
    }
  }
  return repeats;
}

std::vector<std::size_t> draw_cells(const SweepPlan& plan,
                                    std::vector<std::size_t> cells,
                                    std::size_t count,
                                    std::uint64_t seed) {
  for (std::size_t left = cells.size(); left > 1; --left) {
    std::swap(cells[left - 1], cells[next_random(seed) % left]);
  }
  using Row = std::tuple<std::string, std::string, std::string, std::uint64_t>;
  std::map<Row, std::size_t> rows;
  std::vector<std::pair<std::size_t, std::size_t>> order;
  for (const std::size_t cell : cells) {
    const bool is_at_point = cell < plan.faults.size();
    const TreeFault fault = is_at_point ? plan.faults[cell] : TreeFault();
    const Row row = {fault.role, fault.call, fault.object, is_at_point ? fault.k : cell};
    order.emplace_back(rows[row]++, cell);
  }
  std::ranges::stable_sort(order, {}, &std::pair<std::size_t, std::size_t>::first);
  order.resize(std::min(count, order.size()));
  cells.clear();
  std::ranges::transform(
      order, std::back_inserter(cells), &std::pair<std::size_t, std::size_t>::second);
  return cells;
}

}  // namespace lastref::harness::warden
