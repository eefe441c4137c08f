#include "harness/explore/plans.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "harness/choice/choices.hpp"
#include "harness/platform/hash.hpp"

namespace lastref::harness {
namespace {

constexpr std::string_view usual_world = "kernel";
constexpr std::string_view plain_signs =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";

void add_random_fault(std::uint64_t& chance, std::span<const Fault> matrix, Plan& plan) {
  const Fault& fault = matrix[next_random(chance) % matrix.size()];
  if (std::ranges::find(plan.faults, fault) == plan.faults.end()) {
    plan.faults.push_back(fault);
  }
}

void add_random_pair(std::uint64_t& chance, const RandomPool& pool, Plan& plan) {
  const bool is_of_matrix = next_random(chance) % 2 == 0;
  if (is_of_matrix || pool.pairs.empty()) {
    add_random_fault(chance, pool.matrix, plan);
    add_random_fault(chance, pool.matrix, plan);
    std::ranges::sort(plan.faults);
  } else {
    // In this order, in which the second one was found.
    const Pair& pair = pool.pairs[next_random(chance) % pool.pairs.size()];
    plan.faults = {pair.first, pair.second};
  }
}

}  // namespace

Plan random_plan(std::uint64_t seed, std::uint64_t number, const RandomPool& pool) {
  std::uint64_t chance = seed + number * 0x9e3779b97f4a7c15U;
  enum : std::uint64_t { order, order_and_fault, order_and_two, two, kinds };
  const std::uint64_t kind = pool.matrix.empty() ? order : next_random(chance) % kinds;
  Plan plan;
  if (kind != two) {
    plan.seed = next_random(chance);
    plan.policy = static_cast<PolicyName>(next_random(chance) % names_of(PolicyName()).size());
    plan.estimate = pool.estimate;
  }
  if (kind == order_and_fault) {
    add_random_fault(chance, pool.matrix, plan);
  } else if (kind != order) {
    add_random_pair(chance, pool, plan);
  }
  return plan;
}

std::vector<Fault> sample_of_kills(std::uint64_t seed,
                                   std::string_view salt,
                                   std::span<const Fault> matrix,
                                   std::size_t count) {
  std::vector<Fault> kills;
  std::ranges::copy_if(
      matrix, std::back_inserter(kills), [](const Fault& fault) { return is_kill(fault.kind); });
  std::uint64_t chance = seed + hash_of(salt);
  for (std::size_t at = 0; at < std::min(count, kills.size()); ++at) {
    std::swap(kills[at], kills[at + next_random(chance) % (kills.size() - at)]);
  }
  kills.resize(std::min(count, kills.size()));
  return kills;
}

std::string quoted(std::string_view argument) {
  if (!argument.empty() && argument.find_first_not_of(plain_signs) == std::string_view::npos) {
    return std::string(argument);
  }
  std::string text = "'";
  for (const char sign : argument) {
    if (sign == '\'') {
      text += "'\\''";
    } else {
      text += sign;
    }
  }
  return text + "'";
}

std::string set_options(std::span<const ParameterValue> parameters) {
  std::string options;
  for (const ParameterValue& each : parameters) {
    options += " --set " + harness::quoted(to_text(each));
  }
  return options;
}

std::string replay_command(std::string_view scenario, const Plan& plan, std::string_view world) {
  std::string command = "lastref replay " + harness::quoted(scenario);
  if (!plan.ambient.empty()) {
    command += " --ambient " + harness::quoted(plan.ambient);
  }
  command += set_options(plan.parameters);
  for (const Fault& fault : plan.faults) {
    command += " --fault " + harness::quoted(to_text(fault));
  }
  if (const std::string choices = to_text(plan.choices); !choices.empty()) {
    command += " --choices " + choices;
  }
  if (plan.seed) {
    command += " --seed " + std::to_string(*plan.seed);
    if (plan.policy != PolicyName::sticky) {
      command += fmt::format(" --policy {}", name_of(plan.policy));
    }
  }
  if (world != usual_world) {
    command += " --world " + std::string(world);
  }
  return command;
}

}  // namespace lastref::harness
