// lastref: the program. See README.md, or --help.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <span>

#include <fmt/format.h>

#include "harness/cli/names.hpp"
#include "harness/cli/verbs.hpp"

namespace lastref::harness {
namespace {

constexpr std::string_view codes =
    "Exit codes: 0 clean, 1 violation, 2 bad usage or cannot run, 3 incomplete, 4 the same plan "
    "gave\n"
    "different runs.";

const CLI::App* verb_of(const CLI::App& app, std::string_view name) {
  const auto found =
      app.get_subcommands([&](const CLI::App* verb) { return verb->get_name() == name; });
  return found.empty() ? nullptr : found.front();
}

std::vector<std::string> names_of_verbs(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!verb->get_group().empty()) {
      names.push_back(verb->get_name());
    }
  }
  return names;
}

/// The options of the verb that was named, for a suggestion.
std::vector<std::string> names_of_options(const CLI::App& app, std::string_view verb) {
  std::vector<std::string> names;
  const CLI::App* named = verb_of(app, verb);
  if (named == nullptr) {
    return names;
  }
  for (const CLI::Option* option : named->get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  return names;
}

/// A word on the command line that nobody takes, with what may have been meant.
std::string about_unknown(const CLI::App& app, std::span<const char* const> words) {
  const std::string_view verb = words[1];
  const std::vector<std::string> names = names_of_options(app, verb);
  for (const std::string_view word : words.subspan(2)) {
    const std::string_view name = word.substr(0, word.find('='));
    if (name.starts_with("--") && std::ranges::find(names, name) == names.end()) {
      return fmt::format("{} has no option {}{}", verb, name, suggestion(name, names));
    }
  }
  return {};
}

int parse(CLI::App& app, Session& session, std::span<const char* const> words) {
  if (words.size() > 1 && !std::string_view(words[1]).starts_with('-') &&
      verb_of(app, words[1]) == nullptr) {
    session.refuse(
        fmt::format("no verb {}{}", words[1], suggestion(words[1], names_of_verbs(app))));
    return session.exit;
  }
  try {
    app.parse(static_cast<int>(words.size()), words.data());
  } catch (const CLI::Success& asked) {
    return app.exit(asked);
  } catch (const CLI::ExtrasError& error) {
    const std::string unknown = words.size() > 2 ? about_unknown(app, words) : std::string();
    session.refuse(unknown.empty() ? error.what() : unknown);
  } catch (const CLI::ParseError& error) {
    session.refuse(error.what());
  }
  return session.exit;
}

}  // namespace

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

CLI::Validator above_zero() {
  return {[](const std::string& text) {
            double number = 0;
            const bool good =
                CLI::detail::lexical_cast(text, number) && std::isfinite(number) && number > 0;
            return good ? std::string() : text + " is not a number above 0";
          },
          "NUMBER > 0"};
}

CLI::Validator whole_number() {
  return {[](const std::string& text) {
            std::uint64_t number = 0;
            const char* const end = text.data() + text.size();
            const auto [at, error] = std::from_chars(text.data(), end, number);
            const bool good = error == std::errc{} && at == end;
            return good ? std::string() : text + " is not a whole number from 0 on";
          },
          "NUMBER"};
}

namespace {

int run(std::span<const char* const> words) {
  Session session{.worlds = Worlds::start(words)};
  CLI::App app("The last reference unlinks the file.", "lastref");
  app.require_subcommand(1);
  app.footer(std::string(codes));
  add_gate(app, session);
  add_explore(app, session);
  add_list(app, session);
  add_replay(app, session);
  add_sweep(app, session);
  add_tracker(app, session);
  add_mutants(app, session);
  add_bench(app, session);
  return parse(app, session, words);
}

}  // namespace
}  // namespace lastref::harness

// The product throws nothing; libraries that the harness stands on may.
int main(int count, char** words) try {
  return lastref::harness::run({words, static_cast<std::size_t>(count)});
} catch (const std::exception& error) {
  std::fputs("lastref: ", stderr);
  std::fputs(error.what(), stderr);
  std::fputs("\n", stderr);
  return 2;
} catch (...) {
  return 2;
}
