#include "harness/cli/worlds.hpp"

#include <algorithm>
#include <charconv>
#include <thread>

#include "harness/kernel/bare_tree.hpp"
#include "harness/kernel/kernel_world.hpp"
#include "harness/platform/namespaces.hpp"
#include "harness/scenario/scenario.hpp"
#include "harness/sim/sim_world.hpp"

namespace lastref::harness {
namespace {

constexpr unsigned worlds_most = 64;
constexpr std::size_t loops_at_start = 300;  // 0.1 s

/// The argument after "--option", or within "--option=argument"; the last one if there are several.
std::string_view value_after(std::span<const char* const> arguments, std::string_view option) {
  std::string_view found;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == option && i + 1 < arguments.size()) {
      found = arguments[i + 1];
    } else if (argument.starts_with(option) && argument.substr(option.size()).starts_with('=')) {
      found = argument.substr(option.size() + 1);
    }
  }
  return found;
}

/// One per core: worlds hardly wait, and a second one would take time from the first.
unsigned number_of_worlds(std::span<const char* const> arguments) {
  const std::string_view text = value_after(arguments, "--worlds");
  unsigned number = std::thread::hardware_concurrency();
  std::from_chars(text.data(), text.data() + text.size(), number);
  return std::clamp(number, 1U, worlds_most);
}

}  // namespace

Worlds Worlds::start(std::span<const char* const> arguments) {
  Worlds worlds;
  const std::string_view verb = arguments.size() < 2 ? "" : arguments[1];
  const bool asks_for_help = std::ranges::any_of(arguments, [](std::string_view argument) {
    return argument == "--help" || argument == "-h";
  });
  const std::string_view explored_in = value_after(arguments, "--worlds");
  const bool explores_kernel =
      verb == "explore" && (explored_in == "kernel" || explored_in == "both");
  const bool needs_worlds = verb == "gate" || verb == "replay" || verb == "hunt" || explores_kernel;
  if (!needs_worlds || asks_for_help) {
    return worlds;
  }
  if (verb == "hunt" || value_after(arguments, "--world") == "sim") {
    worlds.kind_ = "sim";
  }
  if (worlds.kind_ == "kernel" && !has_proc()) {
    worlds.degraded_ = no_proc;
    worlds.available_ = false;
    return worlds;
  }
  const unsigned number = verb == "replay" || explores_kernel ? 1 : number_of_worlds(arguments);
  if (verb == "gate" && worlds.kind_ == "kernel") {
    worlds.bare_loops_ = bare_loops_per_second(loops_at_start);
  }
  const unsigned cores = std::max(std::thread::hardware_concurrency(), 1U);
  for (unsigned i = 0; i < number; ++i) {
    if (worlds.kind_ == "sim") {
      worlds.owned_.push_back(std::make_unique<SimWorld>(sim_options_of_verbs));
    } else {
      auto world =
          std::make_unique<KernelWorld>(KernelOptions{.scenarios = &catalog(), .core = i % cores});
      worlds.degraded_ = world->degraded();
      worlds.available_ = worlds.available_ && world->available();
      worlds.owned_.push_back(std::move(world));
    }
    worlds.all_.push_back(worlds.owned_.back().get());
  }
  return worlds;
}

std::vector<WorldReport> Worlds::report() const {
  return {{.name = kind_, .available = available_, .degraded = degraded_}};
}

}  // namespace lastref::harness
