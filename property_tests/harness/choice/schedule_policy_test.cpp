// Schedule policies: each reaches the schedules that it promises, and a seed gives one schedule.
#include "harness/choice/schedule_policy.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "harness/choice/choices.hpp"
#include "harness/sim/sim_os.hpp"

namespace lastref::harness {
namespace {

using sim::Machine;
using sim::Scheduler;

constexpr NextStep writes_object{.object = 7, .writes = true};

/// Two processes take that many steps each, all on one object.
std::string order_of_conflicting_steps(Choices& choices, int first, int second) {
  choices.begin();
  Machine machine(choices);
  std::string order;
  const auto start = [&](char name, int steps) {
    machine.scheduler.start(
        machine.kernel.make_process(nullptr, std::string(1, name)), true, [=, &order, &machine] {
          for (int step = 0; step < steps; ++step) {
            machine.scheduler.ask(sim::Reach::all, writes_object);
            order += name;
          }
          return 0;
        });
  };
  start('a', first);
  start('b', second);
  EXPECT_EQ(machine.scheduler.run(), Scheduler::Rest::ended);
  return order;
}

/// Of the runs that `order_of_conflicting_steps` makes. A process also takes a step to begin.
RunEstimate estimate_of(int first, int second) {
  return {{.actor = 0, .object = 0, .steps = 1},
          {.actor = 0, .object = 7, .steps = static_cast<std::uint32_t>(first)},
          {.actor = 1, .object = 0, .steps = 1},
          {.actor = 1, .object = 7, .steps = static_cast<std::uint32_t>(second)}};
}

std::string order_by(PolicyName name, std::uint64_t seed, int first, int second) {
  PolicyChoices choices(name, seed, estimate_of(first, second));
  return order_of_conflicting_steps(choices, first, second);
}

class Policies : public testing::TestWithParam<PolicyName> {};

TEST_P(Policies, gives_one_schedule_for_a_seed) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_EQ(order_by(GetParam(), seed, 5, 4), order_by(GetParam(), seed, 5, 4));
  }
}

TEST_P(Policies, reaches_all_orders_with_few_switches) {
  std::set<std::string> seen;
  constexpr std::uint64_t seeds = 3000;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    seen.insert(order_by(GetParam(), seed, 3, 3));
  }
  for (const char* const order : {"aaabbb", "bbbaaa", "abbbaa", "aabbba", "baaabb", "bbaaab"}) {
    EXPECT_TRUE(seen.contains(order)) << order;
  }
}

TEST_P(Policies, may_let_each_actor_take_the_first_step) {
  constexpr std::array<ReadyActor, 2> ready = {{{.actor = 1}, {.actor = 0}}};
  std::set<std::size_t> chosen;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto policy = make_policy(GetParam(), seed, estimate_of(3, 3));
    chosen.insert(policy->choose(ready, /*may_stay=*/false));
  }
  EXPECT_EQ(chosen.size(), ready.size());
}

TEST_P(Policies, lets_others_run_while_an_actor_polls) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    PolicyChoices choices(GetParam(), seed, estimate_of(3, 3));
    choices.begin();
    Machine machine(choices);
    bool is_set = false;
    machine.scheduler.start(machine.kernel.make_process(nullptr, "poller"), true, [&] {
      while (!is_set) {
        machine.scheduler.ask();
      }
      return 0;
    });
    machine.scheduler.start(machine.kernel.make_process(nullptr, "setter"), true, [&] {
      constexpr int steps = 20;
      for (int step = 0; step < steps; ++step) {
        machine.scheduler.ask();
      }
      is_set = true;
      return 0;
    });
    EXPECT_EQ(machine.scheduler.run(), Scheduler::Rest::ended) << "seed " << seed;
  }
}

TEST_P(Policies, makes_switches_that_repeat_the_run) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    PolicyChoices choices(GetParam(), seed, estimate_of(4, 5));
    const std::string order = order_of_conflicting_steps(choices, 4, 5);
    SwitchChoices again(choices.switches());
    EXPECT_EQ(order_of_conflicting_steps(again, 4, 5), order);
    EXPECT_EQ(again.answers(), choices.answers());
  }
}

INSTANTIATE_TEST_SUITE_P(All,
                         Policies,
                         testing::Values(PolicyName::sticky,
                                         PolicyName::delays,
                                         PolicyName::postpone,
                                         PolicyName::pct,
                                         PolicyName::pos,
                                         PolicyName::surw),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

TEST(Pct, finds_each_order_of_three_steps_as_often_as_its_bound_says) {
  constexpr std::uint64_t seeds = 20'000;
  std::map<std::string, std::uint64_t> seen;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    ++seen[order_by(PolicyName::pct, seed, 3, 3)];
  }
  const double least = static_cast<double>(seeds) / pct_bound(2, 8);
  for (const char* const order : {"aaabbb", "abbbaa", "aabbba", "bbbaaa", "baaabb", "bbaaab"}) {
    EXPECT_GE(static_cast<double>(seen[order]), least) << order;
  }
}

/// Two processes take steps on objects of their own. In the middle, the first takes two steps on a
/// shared object, and the second takes one. Returns whether that came between the two.
bool hits_window(Choices& choices, std::uint64_t private_steps) {
  choices.begin();
  Machine machine(choices);
  std::string order;
  const auto start = [&](char name, int shared_steps) {
    machine.scheduler.start(
        machine.kernel.make_process(nullptr, std::string(1, name)), true, [=, &order, &machine] {
          const auto take_private_steps = [&] {
            for (std::uint64_t step = 0; step < private_steps; ++step) {
              machine.scheduler.ask(sim::Reach::all,
                                    {.object = static_cast<std::uint64_t>(name), .writes = true});
            }
          };
          take_private_steps();
          for (int step = 0; step < shared_steps; ++step) {
            machine.scheduler.ask(sim::Reach::all, writes_object);
            order += name;
          }
          take_private_steps();
          return 0;
        });
  };
  start('a', 2);
  start('b', 1);
  EXPECT_EQ(machine.scheduler.run(), Scheduler::Rest::ended);
  return order == "aba";
}

TEST(Postpone, hits_a_window_on_a_shared_object_however_many_other_steps_there_are) {
  constexpr std::uint32_t private_steps = 100;
  const RunEstimate estimate = {{.actor = 0, .object = 'a', .steps = 2 * private_steps},
                                {.actor = 0, .object = 7, .steps = 2},
                                {.actor = 1, .object = 'b', .steps = 2 * private_steps},
                                {.actor = 1, .object = 7, .steps = 1}};
  constexpr std::uint64_t seeds = 1000;
  std::uint64_t hits = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    PolicyChoices choices(PolicyName::postpone, seed, estimate);
    hits += hits_window(choices, private_steps) ? 1U : 0U;
  }
  EXPECT_GT(hits, seeds / 10);
}

TEST(Surw, draws_orders_more_evenly_than_a_coin_where_one_actor_is_longer) {
  // Of the 11 orders of one step among ten, a fair coin at each step takes the first with a
  // probability of 1/2.
  constexpr std::uint64_t seeds = 11'000;
  std::map<std::string, std::uint64_t> seen;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    ++seen[order_by(PolicyName::surw, seed, 10, 1)];
  }
  EXPECT_EQ(seen.size(), 11U);
  for (const auto& [order, count] : seen) {
    EXPECT_GT(count, seeds / 11 / 3) << order;
    EXPECT_LT(count, seeds / 11 * 3) << order;
  }
}

TEST(PolicyNames, read_back) {
  for (const std::string_view name : names_of(PolicyName())) {
    EXPECT_EQ(name_of(policy_named(name).value()), name);
  }
  EXPECT_FALSE(policy_named("random"));
}

TEST(Conflict, needs_one_object_and_a_write) {
  const NextStep reads{.object = 7};
  EXPECT_TRUE(conflict(writes_object, reads));
  EXPECT_TRUE(conflict(reads, writes_object));
  EXPECT_FALSE(conflict(reads, reads));
  EXPECT_FALSE(conflict(writes_object, {.object = 8, .writes = true}));
  EXPECT_FALSE(conflict({.writes = true}, {.writes = true}));
}

TEST(Switches, keep_their_meaning_when_others_are_left_out) {
  std::size_t most = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    PolicyChoices choices(PolicyName::sticky, seed, {});
    order_of_conflicting_steps(choices, 6, 6);
    const Switches all = choices.switches();
    most = std::max(most, all.size());
    for (const Switch& only : all) {
      SwitchChoices one({only});
      order_of_conflicting_steps(one, 6, 6);
      for (const Switch& made : one.switches()) {
        EXPECT_EQ(made, only);
      }
    }
  }
  EXPECT_GT(most, 1U);
}

TEST(Switches, to_a_paused_actor_end_its_pause) {
  const Switch pause{.kind = Switch::Kind::pause, .from = 1, .step = 2};
  SwitchChoices paused({pause});
  EXPECT_EQ(order_of_conflicting_steps(paused, 3, 3), "baaabb");
  SwitchChoices resumed({pause, {.from = 0, .step = 2, .to = 1}});
  EXPECT_EQ(order_of_conflicting_steps(resumed, 3, 3), "babbaa");
}

}  // namespace
}  // namespace lastref::harness
