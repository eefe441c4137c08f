// lastref: the program. See README.md, or --help.
#include <cstdio>
#include <exception>
#include <iostream>
#include <span>
#include <string_view>
#include <variant>

#include <fmt/format.h>

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

int act_on(std::span<const char* const> arguments) {
  if (arguments.size() > 1 && std::string_view(arguments[1]) == born_argument) {
    return become_process_of_run(arguments.subspan(2), catalog(), product_entries());
  }
  Invocation invocation{.worlds = Worlds::start(arguments), .arguments = arguments};
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

}  // namespace
}  // namespace lastref::harness

// The product throws nothing; libraries used by the harness may.
int main(int count, char** arguments) try {
  return lastref::harness::act_on({arguments, static_cast<std::size_t>(count)});
} catch (const std::exception& error) {
  std::fputs("lastref: ", stderr);
  std::fputs(error.what(), stderr);
  std::fputs("\n", stderr);
  return 2;
} catch (...) {
  return 2;
}
