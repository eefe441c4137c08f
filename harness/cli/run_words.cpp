#include "harness/cli/run_words.hpp"

#include <fmt/format.h>

#include "harness/explore/plans.hpp"

namespace lastref::harness {

std::vector<std::string> words_of(const RunVerbOptions& options,
                                  const std::vector<std::string>& faults) {
  std::vector<std::string> words = {"run"};
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) {
      words.insert(words.end(), {option, value});
    }
  };
  const auto add_all = [&](const char* option, const std::vector<std::string>& values) {
    for (const std::string& each : values) {
      add(option, each);
    }
  };
  add_all("--fault", faults);
  if (options.unlikely) {
    words.emplace_back("--unlikely");
  }
  if (options.strict) {
    words.emplace_back("--strict");
  }
  add_all("--also", options.also);
  add_all("--private", options.private_folders);
  add_all("--limit", options.limits);
  add_all("--allow", options.allowed);
  add_all("--open", options.open);
  add("--on-hang", options.on_hang);
  add_all("--same", options.same);
  add("--setup", options.setup);
  add("--ready", options.ready);
  add("--work", options.work);
  add("--rounds", options.rounds > 1 ? std::to_string(options.rounds) : "");
  add("--check", options.check);
  add("--recover", options.recover);
  for (const int code : options.expected_exits) {
    add("--expect-exit", std::to_string(code));
  }
  add("--grace", options.grace != RunVerbOptions().grace ? fmt::format("{}", options.grace) : "");
  add("--timeout", options.timeout > 0 ? fmt::format("{}", options.timeout) : "");
  add("--slowdown", options.slowdown > 0 ? fmt::format("{}", options.slowdown) : "");
  add("--repeat", options.repeat > 1 ? std::to_string(options.repeat) : "");
  words.emplace_back("--");
  words.insert(words.end(), options.command.begin(), options.command.end());
  return words;
}

std::string command_of(const RunVerbOptions& options, const std::vector<std::string>& faults) {
  std::string line = "lastref";
  for (const std::string& word : words_of(options, faults)) {
    line += ' ' + quoted(word);
  }
  return line;
}

}  // namespace lastref::harness
