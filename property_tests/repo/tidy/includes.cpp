// includes: which files may include which others.
#include <algorithm>
#include <array>

#include "property_tests/repo/tidy/rules.hpp"

namespace lastref::tidy {
namespace {

/// A room and the rooms that it may include in addition to itself. Other rooms see only the public
/// headers of impl, but tests and benchmarks see its internal ones.
struct Room {
  std::string_view path;
  std::vector<std::string_view> doors;  ///< Rooms with headers in impl/include that it may include.
  std::vector<std::string_view> inside;  ///< Rooms, or folders of rooms.
};

/// The rooms of the harness, in layers: each may include those of all layers below its own.
const std::vector<std::vector<std::string_view>> harness_layers = {
    {"harness/platform"},
    {"harness/choice", "harness/program"},
    {"harness/scenario"},
    {"harness/journal", "harness/report", "harness/spec"},
    {"harness/history", "harness/instrument"},
    {"harness/oracle"},
    {"harness/sim", "harness/kernel", "harness/warden"},
    {"harness/explore", "harness/stress"},
    {"harness/mutant"},
    {"harness/cli"},
};

std::vector<Room> all_rooms() {
  const std::vector<std::string_view> all_of_impl = {"impl/os",
                                                     "impl/array",
                                                     "impl/tracker",
                                                     "impl/resources",
                                                     "impl/reducers",
                                                     "impl/backends",
                                                     "impl/cache",
                                                     "impl/include"};
  const std::vector<std::string_view> everything = {"impl/os",
                                                    "impl/array",
                                                    "impl/tracker",
                                                    "impl/resources",
                                                    "impl/reducers",
                                                    "impl/backends",
                                                    "impl/cache",
                                                    "harness",
                                                    "fault_scenarios"};
  std::vector<std::string_view> tested = everything;
  tested.emplace_back("bench");
  std::vector<Room> table = {
      {.path = "impl/os", .doors = {}, .inside = {}},
      {.path = "impl/array", .doors = {"impl/os"}, .inside = {"impl/os"}},
      {.path = "impl/tracker", .doors = {"impl/os"}, .inside = {"impl/os"}},
      {.path = "impl/resources",
       .doors = {"impl/os", "impl/array", "impl/tracker"},
       .inside = {"impl/os", "impl/tracker"}},
      {.path = "impl/reducers",
       .doors = {"impl/os", "impl/array", "impl/tracker", "impl/resources"},
       .inside = {"impl/os", "impl/array"}},
      {.path = "impl/cache",
       .doors = {"impl/os", "impl/array", "impl/tracker", "impl/resources"},
       .inside = {"impl/os", "impl/tracker"}},
      {.path = "impl/backends",
       .doors = {"impl/os", "impl/array", "impl/tracker", "impl/resources", "impl/reducers"},
       .inside = {"impl/os"}},
      {.path = "impl/include", .doors = all_of_impl, .inside = {}},
      {.path = "fault_scenarios", .doors = all_of_impl, .inside = {"harness"}},
      {.path = "property_tests", .doors = all_of_impl, .inside = tested},
      {.path = "bench", .doors = all_of_impl, .inside = everything},
  };
  std::vector<std::string_view> below;
  for (const auto& layer : harness_layers) {
    for (const std::string_view path : layer) {
      table.push_back({.path = path, .doors = all_of_impl, .inside = below});
    }
    below.insert(below.end(), layer.begin(), layer.end());
  }
  return table;
}

const std::vector<Room>& rooms() {
  static const std::vector<Room> table = all_rooms();
  return table;
}

/// Which room a door belongs to.
struct Door {
  std::string_view header;
  std::string_view room;
};

constexpr std::array doors = {
    Door{"call.hpp", "impl/os"},
    Door{"calls.def", "impl/os"},
    Door{"steps.def", "impl/os"},
    Door{"probe.hpp", "impl/os"},
    Door{"probes.def", "impl/os"},
    Door{"error.hpp", "impl/os"},
    Door{"kernel_os.hpp", "impl/os"},
    Door{"os.hpp", "impl/os"},
    Door{"message.hpp", "impl/os"},
    Door{"owners.hpp", "impl/os"},
    Door{"per_process.hpp", "impl/os"},
    Door{"process_objects.hpp", "impl/os"},
    Door{"resource.hpp", "impl/os"},
    Door{"spawned.hpp", "impl/os"},
    Door{"thread_safety.hpp", "impl/os"},
    Door{"array.hpp", "impl/array"},
    Door{"backend.hpp", "impl/backends"},
    Door{"cache.hpp", "impl/cache"},
    Door{"codec.hpp", "impl/array"},
    Door{"dtype.hpp", "impl/array"},
    Door{"memory.hpp", "impl/array"},
    Door{"npy.hpp", "impl/array"},
    Door{"parallel.hpp", "impl/backends"},
    Door{"pool.hpp", "impl/backends"},
    Door{"task.hpp", "impl/backends"},
    Door{"typed_function.hpp", "impl/backends"},
    Door{"value.hpp", "impl/backends"},
    Door{"worker.hpp", "impl/backends"},
    Door{"joblib.hpp", "impl/include"},
    Door{"lastref.hpp", "impl/include"},
    Door{"testing.hpp", "impl/include"},
    Door{"loky.hpp", "impl/tracker"},
    Door{"reducer_registry.hpp", "impl/reducers"},
    Door{"reducers.hpp", "impl/reducers"},
    Door{"reduction.hpp", "impl/reducers"},
    Door{"references.hpp", "impl/tracker"},
    Door{"slot_cache.hpp", "impl/cache"},
    Door{"temp_folder.hpp", "impl/resources"},
    Door{"temporary_resources.hpp", "impl/resources"},
    Door{"tracker.hpp", "impl/tracker"},
    Door{"tracker_client.hpp", "impl/tracker"},
    Door{"view.hpp", "impl/array"},
    Door{"weak_array_key_map.hpp", "impl/array"},
};

constexpr std::string_view at_libfiu = "harness/instrument/instrumented_os.cpp";

/// Libraries whose headers end in .h, as the kernel's do.
constexpr std::array<std::string_view, 11> not_the_kernel = {"cxxabi.h",
                                                             "gtest/",
                                                             "gmock/",
                                                             "rapidcheck",
                                                             "benchmark/",
                                                             "oneapi/",
                                                             "fmt/",
                                                             "fnmatch.h",
                                                             "sanitizer/",
                                                             "sqlite3.h",
                                                             "toml++/"};

/// A header inside a room that other rooms may see, and why: the harness queries the counts of the
/// tracker without becoming a client of it, and keeps a process's exit actions as KernelOs does.
struct Lent {
  std::string_view header;
  std::string_view to;
};

constexpr std::array lent = {
    Lent{"impl/os/kernel_os_exit.hpp", "harness/instrument"},
    Lent{"impl/os/kernel_os_exit.hpp", "harness/sim"},
    Lent{"impl/os/limits.hpp", "harness/instrument"},
    Lent{"impl/os/limits.hpp", "harness/scenario"},
    Lent{"impl/os/small_limits.hpp", "harness/scenario"},
    Lent{"impl/tracker/codec.hpp", "harness/sim"},
};

std::string_view room_of_door(std::string_view header) {
  const auto found = std::ranges::find(doors, header, &Door::header);
  return found == doors.end() ? std::string_view{} : found->room;
}

const Room& row_of(std::string_view path) {
  return *std::ranges::find(rooms(), path, &Room::path);
}

bool lies_in(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && path.substr(folder.size()).starts_with('/');
}

bool may(std::string_view from, const std::vector<std::string_view>& allowed, std::string_view to) {
  return from == to || std::ranges::any_of(allowed, [&](std::string_view each) {
           return each == to || lies_in(to, each);
         });
}

/// Why `path` may not include <name> or "name"; empty if it may.
std::string complaint_about(std::string_view path, std::string_view name, bool angled) {
  const Room& room = row_of(room_of(path));
  if (!angled) {
    const std::string_view to = room_of(name);
    if (to.empty()) {
      return "name the header from the checkout: \"room/...\"";
    }
    const bool is_lent = std::ranges::any_of(
        lent, [&](const Lent& loan) { return loan.header == name && loan.to == room.path; });
    if (!is_lent && !may(room.path, room.inside, to)) {
      return std::string(room.path) + " may not look inside " + std::string(to);
    }
    return {};
  }
  if (constexpr std::string_view product = "lastref/"; name.starts_with(product)) {
    const std::string_view to = room_of_door(name.substr(product.size()));
    if (to.empty()) {
      return "say in the table of doors which room this one belongs to";
    }
    if (!may(room.path, room.doors, to)) {
      return std::string(room.path) + " lies below " + std::string(to);
    }
    return {};
  }
  if (name.starts_with("fiu")) {
    return path == at_libfiu ? "" : "libfiu lives in " + std::string(at_libfiu) + " alone";
  }
  const bool kernel =
      (name.ends_with(".h") && !starts_with_any(name, not_the_kernel)) || name == "csignal";
  const bool may_be_header = path.starts_with("impl/os/kernel_os_");
  // Programs as users write them may raise signals.
  if (kernel && !path.starts_with("property_tests/impl/programs/") &&
      !((path.ends_with(".cpp") || may_be_header) && starts_with_any(path, at_the_kernel))) {
    return "the kernel has one door: use os::Os";
  }
  return {};
}

}  // namespace

std::string_view room_of(std::string_view path) {
  constexpr std::string_view doors_folder = "impl/include/lastref/";
  if (path.starts_with(doors_folder)) {
    return room_of_door(path.substr(doors_folder.size()));
  }
  for (const Room& room : rooms()) {
    if (lies_in(path, room.path)) {
      return room.path;
    }
  }
  return {};
}

std::vector<Finding> check_includes(const File& file) {
  std::vector<Finding> findings;
  if (!is_cpp(file.path)) {
    return findings;
  }
  if (room_of(file.path).empty()) {
    findings.push_back(
        {file.path, 0, "say in the table of rooms, or of doors, where this belongs"});
    return findings;
  }
  std::size_t number = 0;
  for (const std::string_view line : lines_of(file.text)) {
    ++number;
    constexpr std::string_view start = "#include ";
    if (!line.starts_with(start)) {
      continue;
    }
    const std::string_view name = line.substr(start.size());
    const bool angled = name.starts_with('<');
    const std::size_t end = name.find(angled ? '>' : '"', 1);
    const std::string complaint =
        complaint_about(file.path, name.substr(1, std::min(end, name.size()) - 1), angled);
    if (!complaint.empty()) {
      findings.push_back({file.path, number, complaint});
    }
  }
  return findings;
}

}  // namespace lastref::tidy
