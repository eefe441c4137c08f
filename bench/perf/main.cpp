// lastref_perf: what `lastref perf` runs. Compares and remembers speed.
#include <exception>
#include <iostream>
#include <string_view>

#include "bench/perf/verbs.hpp"

namespace lastref::perf {
namespace {

constexpr AddVerb verbs[] = {add_compare,
                             add_self_test,
                             add_counters,
                             add_record,
                             add_history,
                             add_bisect,
                             add_growth,
                             add_profile,
                             add_machine};

int act_on(int count, char** arguments) {
  CLI::App app{"Whether programs have become slower, and by how much.", "lastref perf"};
  app.require_subcommand(1);
  Chosen chosen;
  for (const AddVerb add : verbs) {
    add(app, chosen);
  }
  const std::string_view verb = count > 1 ? arguments[1] : "-";
  const auto named = [&](const CLI::App* known) { return known->get_name() == verb; };
  if (!verb.starts_with('-') && app.get_subcommands(named).empty()) {
    std::cerr << "lastref perf: no verb " << verb << "; perf --help lists them\n";
    return static_cast<int>(harness::Exit::unusable);
  }
  try {
    app.parse(count, arguments);
  } catch (const CLI::Success& asked) {
    return app.exit(asked, std::cout, std::cout);
  } catch (const CLI::ParseError& error) {
    std::cerr << "lastref perf: " << error.what() << '\n';
    return static_cast<int>(harness::Exit::unusable);
  }
  const harness::Exit exit = chosen();
  if (!std::cout.flush()) {
    std::cerr << "lastref perf: cannot write to standard output all that there was to say\n";
    return static_cast<int>(harness::Exit::unusable);
  }
  return static_cast<int>(exit);
}

}  // namespace
}  // namespace lastref::perf

int main(int count, char** arguments) try {
  return lastref::perf::act_on(count, arguments);
} catch (const std::exception& error) {
  std::cerr << "lastref perf: " << error.what() << '\n';
  return static_cast<int>(lastref::harness::Exit::unusable);
}
