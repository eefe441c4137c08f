// lastref_perf: the program that `lastref perf` runs. It compares and records speed.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "bench/perf/process.hpp"
#include "bench/perf/record.hpp"
#include "bench/perf/verbs.hpp"
#include "harness/cli/interruption.hpp"

namespace lastref::perf {
namespace {

void add_machine(CLI::App& app, Chosen& chosen) {
  app.add_subcommand("machine", "What times are measured on here")->callback([&chosen] {
    chosen = [] {
      const Machine machine = this_machine();
      fmt::print("{}, load {}\n", name_of(machine), machine.load);
      return harness::Exit::clean;
    };
  });
}

void add_verbs(CLI::App& app, Chosen& chosen, const Words& command) {
  add_compare(app, chosen, command);
  add_self_test(app, chosen);
  add_counters(app, chosen);
  add_record(app, chosen);
  add_history(app, chosen);
  add_bisect(app, chosen);
  add_growth(app, chosen);
  add_profile(app, chosen, command);
  add_machine(app, chosen);
}

bool takes_command(std::string_view verb) {
  return verb == "compare" || verb == "profile";
}

harness::Exit act_on(int count, char** arguments) {
  CLI::App app{"Whether programs have become slower, and by how much.", "lastref perf"};
  app.require_subcommand(1);
  const std::string_view verb = count > 1 ? arguments[1] : "-";
  char** const end = arguments + count;
  char** const dashes =
      takes_command(verb) ? std::find(arguments, end, std::string_view("--")) : end;
  const Words command(std::min(dashes + 1, end), end);
  if (dashes != end && command.empty()) {
    return refuse(std::string(verb) + ": no command after --");
  }
  Chosen chosen;
  add_verbs(app, chosen, command);
  const auto named = [&](const CLI::App* known) { return known->get_name() == verb; };
  if (!verb.starts_with('-') && app.get_subcommands(named).empty()) {
    return refuse("no verb " + std::string(verb) + "; perf --help lists them");
  }
  try {
    app.parse(static_cast<int>(dashes - arguments), arguments);
  } catch (const CLI::Success& asked) {
    return static_cast<harness::Exit>(app.exit(asked, std::cout, std::cout));
  } catch (const CLI::ParseError& error) {
    return refuse(error.what());
  }
  // timeout(1) sends one signal to this process, and one to its group.
  const harness::Interruption interruption(std::chrono::milliseconds(300));
  const harness::Exit exit = chosen();
  if (!std::cout.flush()) {
    return refuse("write to standard output failed");
  }
  return exit;
}

/// Opens closed standard descriptors. Otherwise a file that is opened later would get such a number
/// and receive our output. Standard output is opened read-only, so that writes to it fail, as they
/// should.
void open_what_is_closed() {
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(standard, F_GETFD) < 0) {
      static_cast<void>(::open("/dev/null", standard == STDERR_FILENO ? O_WRONLY : O_RDONLY));
    }
  }
}

}  // namespace
}  // namespace lastref::perf

int main(int count, char** arguments) try {
  lastref::perf::open_what_is_closed();
  return static_cast<int>(lastref::perf::act_on(count, arguments));
} catch (const lastref::perf::Interrupted& interrupted) {
  std::cerr << "lastref perf: interrupted; what was measured has ended\n";
  return std::raise(interrupted.signal);
} catch (const std::exception& error) {
  return static_cast<int>(lastref::perf::refuse(error.what()));
}
