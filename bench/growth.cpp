// growth: compares the resources held after a million calls with those after a thousand. They must
// not grow: E12.
//
// Each kind of call is made in a process of its own. It stops after the first calls and after the
// last, and is examined with its tracker and its workers when all of them are quiet. The table has
// the resources of each process at both times. Exit codes: 0; 1 if anything has grown, with a line
// that names it; 2 if it could not be measured.
//
// A resource counts as growing if the difference exceeds a fraction of a byte per call plus the
// random effect of a page, a bin of the allocator or a backlog. Allocated bytes that are not freed
// ("live") distinguish growth from fragmentation. Pages without a file that remain after the
// allocator has returned what it can are "anonymous". "dirty" also has pages of files that no other
// process maps; it is not judged.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <lastref/worker.hpp>

#include "bench/growth_kinds.hpp"
#include "bench/growth_usage.hpp"
#include "bench/other_process.hpp"
#include "bench/shm_folder.hpp"

namespace {

using lastref::bench::answer_usage_requests;
using lastref::bench::are_all_gone;
using lastref::bench::CallKind;
using lastref::bench::Calls;
using lastref::bench::files_in;
using lastref::bench::folders_of_growth;
using lastref::bench::functions_of_growth;
using lastref::bench::give_up;
using lastref::bench::kinds;
using lastref::bench::OtherProcess;
using lastref::bench::ProcessUsage;
using lastref::bench::read_message;
using lastref::bench::receive_for;
using lastref::bench::remove_what_killed_benches_left;
using lastref::bench::ShmFolder;
using lastref::bench::TreeUsage;
using lastref::bench::usage_of;
using lastref::bench::write_message;

constexpr const char* usage =
    "lastref_growth [--calls N] [--first N] [--seconds N] [--quick] [--list] [KIND...]\n"
    "  what N calls of each kind leave, and the first of them; fewer calls if they take longer\n";

constexpr double bytes_a_call_max = 0.25;
/// bytes, per process: fragmented pages that a temporary backlog leaves
constexpr std::uint64_t pages_slack = std::uint64_t{1} << 20U;
/// Not judged: for a file that no other process maps, these are the written pages.
constexpr std::uint64_t dirty_slack = ~std::uint64_t{0};
constexpr std::uint64_t live_slack = std::uint64_t{64} << 10U;     // bytes
constexpr std::uint64_t ledger_slack = std::uint64_t{128} << 10U;  // bytes; twice what it may keep

struct Options {
  Calls::Plan plan;
  bool is_quick = false;
  std::vector<std::string> names;
};

/// The results of a kind, after the first and the last calls.
struct Seen {
  const CallKind* kind = nullptr;
  std::vector<TreeUsage> usages;
  std::uint64_t left = 0;  ///< files and folders after its end
};

Seen measure(const CallKind& kind, const Calls::Plan& plan) {
  const ShmFolder ground;
  for (const char* const each : folders_of_growth) {
    const std::string path = ground.path() + "/" + each;
    std::filesystem::create_directory(path);
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }
  fmt::print(stderr, "growth: {}: {}\n", kind.name, kind.what);
  Seen seen{.kind = &kind, .usages = {}};
  OtherProcess child({lastref::this_program,
                      "--kind",
                      kind.name,
                      std::to_string(plan.first),
                      std::to_string(std::min(plan.last, kind.calls_max)),
                      std::to_string(plan.time_max.count()),
                      ground.path()});
  while (const auto message = child.receive()) {
    std::uint64_t calls = 0;
    std::copy_n(message->begin(), sizeof calls, reinterpret_cast<std::byte*>(&calls));
    seen.usages.push_back(usage_of(ground.path()));
    seen.usages.back().calls = calls;
    child.send({});
  }
  if (child.end() != 0 || seen.usages.size() != 2) {
    give_up(std::string(kind.name) + " was not measured");
  }
  if (!are_all_gone(ground.path())) {
    give_up(std::string(kind.name) + " has left a process");
  }
  seen.left = files_in(ground.path());
  return seen;
}

/// One column of the table for one process.
struct Growth {
  std::string what;
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  double a_call = 0;
  bool is_too_much = false;
};

/// The growth that is allowed by chance, and per call.
struct Limit {
  std::uint64_t slack = 0;
  double a_call = 0;
};

struct Pair {
  std::uint64_t before = 0;
  std::uint64_t after = 0;
};

Growth growth_of(const char* what, const Seen& seen, Pair pair, Limit limit) {
  const auto calls = static_cast<double>(seen.usages[1].calls - seen.usages[0].calls);
  const double grown = static_cast<double>(pair.after) - static_cast<double>(pair.before);
  return {.what = what,
          .before = pair.before,
          .after = pair.after,
          .a_call = grown / calls,
          .is_too_much = grown > static_cast<double>(limit.slack) + limit.a_call * calls};
}

std::string cell(const Growth& growth) {
  return growth.before == growth.after
             ? fmt::format("{}", growth.after)
             : fmt::format("{} → {} ({:+.3f})", growth.before, growth.after, growth.a_call);
}

/// Prints the rows of a kind, and adds a line to `complaints` for each growth.
void print_rows(const Seen& seen, std::vector<std::string>& complaints) {
  const TreeUsage& first = seen.usages[0];
  const TreeUsage& last = seen.usages[1];
  for (const auto& [what, process] : last.processes) {
    const bool is_program = what == "program";
    const auto known = first.processes.find(what);
    const ProcessUsage& before = known == first.processes.end() ? process : known->second;
    const std::uint64_t buffers = seen.kind->buffers;
    const Limit live_limit{.slack = live_slack + buffers, .a_call = bytes_a_call_max};
    const Limit page_limit{.slack = pages_slack + buffers + seen.kind->fragments,
                           .a_call = bytes_a_call_max};
    std::vector<Growth> cells = {
        growth_of("live bytes", seen, {before.live, process.live}, live_limit),
        growth_of("anonymous memory", seen, {before.anonymous, process.anonymous}, page_limit),
        growth_of("dirty memory", seen, {before.dirty, process.dirty}, {.slack = dirty_slack}),
        growth_of("descriptors", seen, {before.descriptors, process.descriptors}, {})};
    if (is_program) {
      cells.push_back(
          growth_of("ledger", seen, {first.ledger, last.ledger}, {.slack = ledger_slack}));
      cells.push_back(growth_of("files", seen, {first.files, last.files}, {}));
    }
    fmt::print("| {} | {} | {} |",
               is_program ? seen.kind->name : "",
               is_program ? fmt::format("{} → {}", first.calls, last.calls) : "",
               what);
    for (const Growth& each : cells) {
      fmt::print(" {} |", cell(each));
      if (each.is_too_much) {
        complaints.push_back(fmt::format("{}: {} of the {}: {} after {} calls, {} after {}",
                                         seen.kind->name,
                                         each.what,
                                         what,
                                         each.before,
                                         first.calls,
                                         each.after,
                                         last.calls));
      }
    }
    fmt::print("{}\n", is_program ? "" : " | |");
  }
  if (seen.left > 0) {
    complaints.push_back(
        fmt::format("{}: {} files and folders stayed", seen.kind->name, seen.left));
  }
  std::fflush(stdout);
}

int measure_all(const Options& options) {
  remove_what_killed_benches_left();
  std::vector<std::string> complaints;
  fmt::print(
      "| kind | calls | process | live, bytes (a call) | anonymous | dirty | descriptors | ledger "
      "| files |\n|---|---|---|---|---|---|---|---|---|\n");
  for (const CallKind& kind : kinds()) {
    const bool is_named = std::ranges::find(options.names, kind.name) != options.names.end();
    if (is_named || (options.names.empty() && (kind.is_quick || !options.is_quick))) {
      print_rows(measure(kind, options.plan), complaints);
    }
  }
  for (const std::string& each : complaints) {
    fmt::print(stderr, "growth: GROWS {}\n", each);
  }
  return complaints.empty() ? 0 : 1;
}

/// Makes the calls, in the kind's own process.
int make_calls(lastref::os::KernelOs& os, std::span<const std::string> arguments) {
  const auto kind = std::ranges::find(kinds(), arguments[0], &CallKind::name);
  if (kind == kinds().end()) {
    give_up("no kind of that name");
  }
  Calls calls({.first = std::stoull(arguments[1]),
               .last = std::stoull(arguments[2]),
               .time_max = std::chrono::seconds(std::stoll(arguments[3]))},
              [](std::uint64_t done) {
                write_message(STDOUT_FILENO, std::as_bytes(std::span(&done, 1)));
                if (!read_message(STDIN_FILENO)) {
                  give_up("no process measures");
                }
              });
  kind->make({.os = os, .functions = functions_of_growth(), .folder = arguments[4] + "/files"},
             calls);
  return 0;
}

/// The operating system with trees and files of arrays below one folder.
class OsOfKind final : public lastref::os::KernelOs {
 public:
  explicit OsOfKind(std::string folder)
      : KernelOs({.program = lastref::this_program}), folder_(std::move(folder)) {}

  std::optional<std::string> environment(const std::string& name) noexcept override {
    if (name == "LASTREF_RUNTIME_FOLDER") {
      return folder_ + "/run";
    }
    return name == "LASTREF_TEMP_FOLDER" ? folder_ + "/temporary" : KernelOs::environment(name);
  }

 private:
  std::string folder_;
};

/// The folder of the kind that this process belongs to, as the program, its tracker or a worker.
std::optional<std::string> folder_of(std::span<const std::string> arguments) {
  for (const std::string& argument : arguments) {
    const std::size_t end = argument.find("/run/");
    if (argument.find("/lastref-bench-") != std::string::npos) {
      return argument.substr(0, end);
    }
  }
  return std::nullopt;
}

std::optional<Options> parse(std::span<const std::string> arguments) {
  Options options;
  for (std::size_t at = 0; at < arguments.size(); ++at) {
    const std::string& argument = arguments[at];
    const bool has_number = at + 1 < arguments.size() && !arguments[at + 1].empty() &&
                            std::ranges::all_of(arguments[at + 1], [](char each) {
                              return each >= '0' && each <= '9';
                            });
    if (argument == "--quick") {
      options.is_quick = true;
    } else if (has_number && argument == "--calls") {
      options.plan.last = std::stoull(arguments[++at]);
    } else if (has_number && argument == "--first") {
      options.plan.first = std::stoull(arguments[++at]);
    } else if (has_number && argument == "--seconds") {
      options.plan.time_max = std::chrono::seconds(std::stoll(arguments[++at]));
    } else if (std::ranges::any_of(kinds(),
                                   [&](const CallKind& kind) { return argument == kind.name; })) {
      options.names.push_back(argument);
    } else {
      return std::nullopt;
    }
  }
  return options.plan.first < options.plan.last ? std::optional(options) : std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv, argv + argc);
  const auto folder = folder_of(arguments);
  if (folder) {
    answer_usage_requests(*folder);
  }
  static auto& os = *new OsOfKind(folder.value_or(""));
  if (const auto code = lastref::run_if_spawned(os, *functions_of_growth(), arguments)) {
    return *code;
  }
  const auto rest = std::span(arguments).subspan(std::min<std::size_t>(arguments.size(), 2));
  if (arguments.size() == 7 && arguments[1] == "--kind") {
    return make_calls(os, rest);
  }
  if (arguments.size() == 3 && arguments[1] == "--receive") {
    return receive_for(os, rest[0]);
  }
  if (arguments.size() == 2 && arguments[1] == "--list") {
    for (const CallKind& kind : kinds()) {
      fmt::print("{:24}{}\n", kind.name, kind.what);
    }
    return 0;
  }
  const auto options =
      parse(std::span(arguments).subspan(std::min<std::size_t>(arguments.size(), 1)));
  if (!options) {
    fmt::print(stderr, "{}", usage);
    return 2;
  }
  return measure_all(*options);
}
