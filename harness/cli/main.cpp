// lastref: the program. See README.md, or --help.
#include <cstdio>
#include <exception>
#include <iostream>
#include <span>
#include <variant>

#include <fmt/format.h>

#include "harness/cli/verbs.hpp"

namespace lastref::harness {

void Session::refuse(std::string_view why) {
  std::cerr << "lastref: " << why << '\n';
  end(Exit::unusable);
}

bool Session::has_worlds() {
  if (!worlds.available()) {
    refuse(fmt::format("the {} world cannot run here: {}", worlds.kind(), worlds.degraded()));
  }
  return worlds.available();
}

namespace {

int act_on(std::span<const char* const> words) {
  Session session{.worlds = Worlds::start(words)};
  const auto command = CommandLine().parse(words);
  if (command) {
    std::visit([&](const auto& options) { run(options, session); }, *command);
  } else if (const Answer& answer = command.error(); answer.exit == Exit::clean) {
    std::cout << answer.text << std::flush;
  } else {
    session.refuse(answer.text);
  }
  return session.exit;
}

}  // namespace
}  // namespace lastref::harness

// The product throws nothing; libraries that the harness stands on may.
int main(int count, char** words) try {
  return lastref::harness::act_on({words, static_cast<std::size_t>(count)});
} catch (const std::exception& error) {
  std::fputs("lastref: ", stderr);
  std::fputs(error.what(), stderr);
  std::fputs("\n", stderr);
  return 2;
} catch (...) {
  return 2;
}
