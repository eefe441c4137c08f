// perf self-test: how often `perf compare` is wrong on this machine.
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "bench/perf/machine.hpp"
#include "bench/perf/measured_process.hpp"
#include "bench/perf/priority.hpp"
#include "bench/perf/self_test.hpp"
#include "bench/perf/verbs.hpp"

namespace lastref::perf {
namespace {

struct SelfTestWords {
  std::optional<std::uint64_t> seed;
  bool is_quick = false;
  std::optional<double> budget;
};

harness::Exit test_and_say(const SelfTestWords& words) {
  const auto program = program_beside_us("lastref_bench");
  if (!program) {
    std::cerr << "lastref perf: " << program.error() << '\n';
    return harness::Exit::unusable;
  }
  SelfTestOptions options{
      .program = *program,
      .seed = words.seed.value_or(new_seed()),
      .is_quick = words.is_quick,
      .budget = words.budget,
      .tell = [](const std::string& line) { std::cerr << "lastref perf: " << line << std::endl; }};
  options.tell(fmt::format("--seed {}, on {}", options.seed, name_of(this_machine())));
  be_first_in_line();
  const auto report = self_test(options);
  if (!report) {
    std::cerr << "lastref perf: " << report.error() << '\n';
    return harness::Exit::unusable;
  }
  std::cout << text_of(*report);
  if (exit_of(*report) != harness::Exit::clean) {
    std::cout << fmt::format("again: lastref perf self-test{}{} --seed {}\n",
                             words.is_quick ? " --quick" : "",
                             words.budget ? fmt::format(" --budget {:g}", *words.budget) : "",
                             options.seed);
  }
  return exit_of(*report);
}

}  // namespace

void add_self_test(CLI::App& app, Chosen& chosen) {
  CLI::App* verb =
      app.add_subcommand("self-test",
                         "How often compare is wrong here: a program against itself, "
                         "and against one that is slowed by "
                         "3 % and by 10 % at a random place. Exit code: 1 "
                         "a false alarm, or too little was "
                         "found, 3 this machine is too loud to tell, or the time was over, else 0");
  const auto words = std::make_shared<SelfTestWords>();
  verb->add_flag("--quick", words->is_quick, "A minute: fewer trials, and 10 % alone");
  verb->add_option("--budget", words->budget, "Seconds for all of it; else 1000, or 52 if quick")
      ->check(CLI::PositiveNumber);
  verb->add_option("--seed", words->seed, "Of places and of the order of runs; printed");
  verb->callback([&chosen, words] { chosen = [words] { return test_and_say(*words); }; });
}

}  // namespace lastref::perf
