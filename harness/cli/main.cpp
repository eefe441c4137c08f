// lastref: the program. See README.md, or --help.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <span>
#include <string_view>
#include <variant>

#include <fmt/format.h>

#include <lastref/worker.hpp>

#include "harness/cli/sibling.hpp"
#include "harness/cli/verbs.hpp"
#include "harness/kernel/kernel_world.hpp"
#include "harness/platform/namespaces.hpp"
#include "harness/scenario/scenario.hpp"

namespace lastref::harness {

void Invocation::refuse(std::string_view why) {
  std::cerr << "lastref: " << why << '\n';
  end(Exit::unusable);
}

bool Invocation::has_worlds() {
  if (!worlds.available()) {
    refuse(fmt::format("the {} world cannot run here: {}", worlds.kind(), worlds.degraded()));
  }
  return worlds.available();
}

bool Invocation::has_proc() {
  const bool is_there = harness::has_proc();
  if (!is_there) {
    refuse(fmt::format("{} cannot run here: {}", arguments[1], no_proc));
  }
  return is_there;
}

namespace {

/// Read from the raw arguments, because an option that this build does not know is a reason for it.
bool is_for_bisect(std::span<const char* const> arguments) {
  const auto is = [](std::string_view text) {
    return [text](std::string_view argument) { return argument == text; };
  };
  const auto end = std::ranges::find_if(arguments, is("--"));
  return std::ranges::any_of(arguments.begin(), end, is("--bisect"));
}

int act_on(std::span<const char* const> arguments) {
  if (arguments.size() > 1 && std::string_view(arguments[1]) == born_argument) {
    return become_process_of_run(arguments.subspan(2), catalog(), product_entries());
  }
  // No verb for users: a pool starts it.
  if (arguments.size() > 1 && std::string_view(arguments[1]) == worker::entry_point) {
    return become_worker(arguments);
  }
  const char* const in_actions = std::getenv("GITHUB_ACTIONS");
  Invocation invocation{
      .worlds = Worlds::start(arguments),
      .arguments = arguments,
      .annotates = in_actions != nullptr && std::string_view(in_actions) == "true",
  };
  const auto command = CommandLine().parse(arguments);
  if (command) {
    std::visit([&](const auto& options) { run(options, invocation); }, *command);
  } else if (const Answer& answer = command.error(); answer.exit == Exit::clean) {
    std::cout << answer.text << std::flush;
  } else {
    invocation.refuse(answer.text);
  }
  // A reader would take incomplete output for complete.
  if (!std::cout.flush()) {
    invocation.refuse("write to standard output failed");
  }
  return invocation.exit;
}

/// The product throws nothing; libraries used by the harness may.
int code_of(std::span<const char* const> arguments) try {
  return act_on(arguments);
} catch (const std::exception& error) {
  std::fputs("lastref: ", stderr);
  std::fputs(error.what(), stderr);
  std::fputs("\n", stderr);
  return static_cast<int>(Exit::unusable);
} catch (...) {
  return static_cast<int>(Exit::unusable);
}

}  // namespace
}  // namespace lastref::harness

int main(int count, char** argument_list) {
  using lastref::harness::Exit;
  const std::span<const char* const> arguments(argument_list, static_cast<std::size_t>(count));
  const int code = lastref::harness::code_of(arguments);
  const bool has_verdict = code <= static_cast<int>(Exit::violation);
  return has_verdict || !lastref::harness::is_for_bisect(arguments)
             ? code
             : static_cast<int>(Exit::does_not_apply);
}
