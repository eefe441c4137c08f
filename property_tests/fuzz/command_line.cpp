// command_line: how the program parses any arguments; no verb runs.
//
// Each line of the input, or each part that ends with a zero byte, is an argument after the
// program's name.
#include "harness/cli/command_line.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "harness/choice/schedule_policy.hpp"
#include "harness/mutant/hunter.hpp"
#include "harness/scenario/product_limits.hpp"
#include "property_tests/fuzz/fuzz.hpp"

namespace lastref::fuzz {
namespace {

using harness::Exit;

constexpr unsigned worlds_most = 64;
constexpr int fd_most = 1 << 20;
constexpr std::size_t drawn_most = 10000;

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> arguments = {"lastref"};
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(std::string_view("\n\0", 2)), text.size());
    arguments.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return arguments;
}

/// Checks that the options of each verb are within the bounds that its code relies on.
class Bounds {
 public:
  explicit Bounds(const std::vector<std::string>& arguments) : words_(arguments) {}

  void operator()(const harness::BenchOptions& options) const {
    expect_said(options.json);
    expect_said(options.filter);
    expect_said(options.profile);
  }

  void operator()(const harness::ExploreOptions& options) const {
    expect_said(options.name);
    expect(options.budget == 0 || is_time(options.budget), "a budget is a time");
    expect_said(options.ask_after);
    std::ranges::for_each(options.faults, [this](const auto& fault) { expect_said(fault); });
    expect(are_policies(options.policies), "a policy is known");
    expect(options.policies.empty() || !options.deviations, "there is one search");
    expect((options.policies.empty() && !options.deviations) || options.ask_after.empty(),
           "only the search of all orders waits for a signal");
    expect(options.worlds == "both" || is_world(options.worlds), "worlds are known");
  }

  void operator()(const harness::GateOptions& options) const {
    expect(!options.budget || is_time(*options.budget), "a budget is a time");
    expect_said(options.scenario);
    expect_said(options.row);
    expect_said(options.files);
    expect_said(options.resume);
    expect(options.worlds <= worlds_most, "there are not more worlds");
    expect(is_world(options.world), "a world is known");
    expect(std::ranges::all_of(options.required, is_world), "what is required is a world");
    expect_small_is_set(options);
  }

  void operator()(const harness::HuntVerbOptions& options) const {
    expect(!options.budget || is_time(*options.budget), "a budget is a time");
    expect(options.worlds <= worlds_most, "there are not more worlds");
    expect_said(options.scenario);
    expect_said(options.files);
    expect_said(options.resume);
    expect(are_policies(options.policies), "a policy is known");
    expect_small_is_set(options);
  }

  void operator()(const harness::ListOptions& options) const {
    expect(!options.points || !options.wants_rows, "points and rows exclude each other");
    expect(options.wants_rows ||
               (options.rows.empty() && options.json.empty() && options.checkout.empty()),
           "what is about rows needs them");
    expect_said(options.rows);
    expect_said(options.json);
    expect_said(options.checkout);
  }

  void operator()(const harness::MergeOptions& options) const {
    expect(!options.folders.empty(), "there is something to merge");
    std::ranges::for_each(options.folders, [this](const auto& folder) { expect_said(folder); });
    expect_said(options.files);
  }

  void operator()(const harness::MutantsOptions& options) const {
    expect(!options.budget || is_time(*options.budget), "a budget is a time");
    const auto is_known = [](const auto& name) { return harness::hunter_named(name).has_value(); };
    expect(std::ranges::all_of(options.by, is_known), "a hunter is known");
    expect(!options.draw || (*options.draw > 0 && *options.draw <= drawn_most), "not too many");
    std::ranges::for_each(options.names, [this](const auto& name) { expect_said(name); });
    expect_said(options.row);
    expect_said(options.checkout);
    expect_said(options.json);
    expect(!options.list || !options.check, "a list and a check exclude each other");
  }

  /// Another program parses them.
  void operator()(const harness::PerfOptions& options) const {
    std::ranges::for_each(options.words, [this](const auto& word) { expect_said(word); });
  }

  void operator()(const harness::ReplayOptions& options) const {
    expect_said(options.name);
    std::ranges::for_each(options.faults, [this](const auto& fault) { expect_said(fault); });
    expect_said(options.choices);
    expect(options.policy.empty() || harness::policy_named(options.policy).has_value(),
           "a policy is known");
    expect(is_world(options.world), "a world is known");
    expect_said(options.html);
  }

  void operator()(const harness::RunVerbOptions& options) const {
    expect(is_time(options.grace), "a grace is a time");
    expect(options.timeout == 0 || is_time(options.timeout), "a limit of time is one");
    expect(options.slowdown == 0 || is_time(options.slowdown), "so is a factor");
    expect(options.repeat > 0, "it is run");
    expect(!options.budget || is_time(*options.budget), "a budget is a time");
    expect_said(options.files);
    for (const std::string* said : {&options.setup,
                                    &options.ready,
                                    &options.work,
                                    &options.check,
                                    &options.recover,
                                    &options.shard,
                                    &options.output,
                                    &options.resume,
                                    &options.suite,
                                    &options.story}) {
      expect_said(*said);
    }
    for (const auto* words : {&options.command,
                              &options.faults,
                              &options.allowed,
                              &options.open,
                              &options.also,
                              &options.same,
                              &options.private_folders}) {
      std::ranges::for_each(*words, [this](const auto& word) { expect_said(word); });
    }
    expect(!options.sample || *options.sample > 0, "a sample has a fault");
    expect(options.output.empty() || options.resume.empty(), "a folder is new or not");
    expect(!options.doctor || options.command.empty(), "a doctor runs nothing");
  }

  void operator()(const harness::StressVerbOptions& options) const {
    expect(options.worlds > 0, "there is a world");
    expect_said(options.scenario);
  }

  void operator()(const harness::SweepOptions& options) const { expect_said(options.runtime); }

  void operator()(const harness::TrackerOptions& options) const {
    expect(!options.tree || !options.loky_fd, "a tree and loky's pipe exclude each other");
    if (options.tree) {
      expect_said(*options.tree);
    }
    if (options.loky_fd) {
      expect(*options.loky_fd >= 0, "a descriptor is not negative");
      expect(*options.loky_fd <= fd_most, "a descriptor can be one");
    }
  }

 private:
  static bool is_time(double seconds) { return std::isfinite(seconds) && seconds > 0; }
  static bool are_policies(const std::vector<std::string>& names) {
    return std::ranges::all_of(
        names, [](const auto& name) { return harness::policy_named(name).has_value(); });
  }
  static bool is_world(const std::string& name) { return name == "kernel" || name == "sim"; }

  void expect_said(const std::string& text) const {
    const auto has_it = [&](const std::string& argument) {
      return argument.find(text) != std::string::npos;
    };
    expect(text.empty() || std::any_of(words_.begin() + 1, words_.end(), has_it),
           "what an option says was said");
  }

  void expect_said(const harness::ReportFiles& files) const {
    expect_said(files.json);
    expect_said(files.junit);
    expect_said(files.sarif);
    expect_said(files.html);
  }

  /// For verbs that have it.
  template <typename Options>
  void expect_small_is_set(const Options& options) const {
    const auto set = std::ranges::find(options.set, harness::small_limits_set);
    expect(!options.small || set != options.set.end(), "small limits are a value of a parameter");
  }

  const std::vector<std::string>& words_;
};

bool asks_for_help(const std::string& argument) {
  return argument.starts_with("-h") || argument.starts_with("--help");
}

/// "lastref help VERB" stands for "lastref VERB --help".
bool has_help_as_verb(const std::vector<std::string>& texts) {
  return texts.size() > 1 && texts[1] == "help";
}

}  // namespace

void check(os::Bytes input) {
  static harness::CommandLine command_line;  // Making one takes longer than parsing.
  std::vector<std::string> texts = words_of(text_of(input));
  std::vector<const char*> arguments;
  for (const std::string& text : texts) {
    arguments.push_back(text.c_str());
  }
  const auto command = command_line.parse(arguments);
  if (has_help_as_verb(texts)) {
    texts.emplace_back("--help");
  }
  if (command) {
    const Bounds bounds(texts);
    std::visit(bounds, *command);
    return;
  }
  const harness::Answer& answer = command.error();
  expect(!answer.text.empty(), "where nothing runs there is something to say");
  if (answer.exit == Exit::clean) {
    if (answer.text.starts_with("lastref ")) {
      expect(std::ranges::count(texts, "--version") > 0, "so is the version");
      return;
    }
    expect(std::ranges::any_of(texts, asks_for_help), "help is printed only on request");
    expect(answer.text.find("Usage: lastref") != std::string::npos, "help says how it is used");
  } else {
    expect(answer.exit == Exit::unusable, "a refusal has the exit code of bad usage");
  }
}

}  // namespace lastref::fuzz
