// Choices: enumeration is exhaustive, exact and without repetition, checked against brute force.
#include "harness/choice/choices.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "harness/sim/sim_os.hpp"

namespace lastref::harness {
namespace {

using sim::Machine;
using sim::Scheduler;

/// Two processes on a machine without an Os: one takes `first` steps, the other `second`.
std::string order_of_steps(Choices& choices, int first, int second) {
  choices.begin();
  Machine machine(choices);
  std::string order;
  const auto start = [&](char name, int steps) {
    machine.scheduler.start(
        machine.kernel.make_process(nullptr, std::string(1, name)), true, [=, &order, &machine] {
          for (int step = 0; step < steps; ++step) {
            if (step > 0) {
              machine.scheduler.ask();
            }
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

/// The number of switches away from a process that had steps left.
std::uint32_t preemptions_in(const std::string& order) {
  std::uint32_t count = 0;
  for (std::size_t at = 1; at < order.size(); ++at) {
    const bool switched = order[at] != order[at - 1];
    count += switched && order.find(order[at - 1], at) != std::string::npos ? 1U : 0U;
  }
  return count;
}

/// Every sequence of that many a and b, by brute force.
std::set<std::string> all_orders(int first, int second) {
  std::string order = std::string(static_cast<std::size_t>(first), 'a') +
                      std::string(static_cast<std::size_t>(second), 'b');
  std::set<std::string> orders;
  do {
    orders.insert(order);
  } while (std::next_permutation(order.begin(), order.end()));
  return orders;
}

struct Orders {
  std::set<std::string> different;
  std::uint64_t runs = 0;
};

Orders explored(int first, int second, const ExhaustiveBounds& bounds) {
  ExhaustiveChoices choices(bounds);
  Orders orders;
  do {
    orders.different.insert(order_of_steps(choices, first, second));
    ++orders.runs;
  } while (choices.advance());
  EXPECT_TRUE(choices.deterministic());
  return orders;
}

TEST(Exhaustive, visits_every_order_of_two_processes_exactly_once) {
  for (const auto& [first, second] : {std::pair{1, 1}, {2, 2}, {1, 5}, {3, 4}, {5, 5}}) {
    const Orders orders = explored(first, second, {});
    EXPECT_EQ(orders.different, all_orders(first, second));
    EXPECT_EQ(orders.runs, orders.different.size());
  }
  EXPECT_EQ(all_orders(5, 5).size(), 252U);  // C(10, 5)
}

TEST(Exhaustive, visits_exactly_the_orders_within_a_bound_of_preemptions) {
  for (const std::uint32_t bound : {0U, 1U, 2U, 3U}) {
    std::set<std::string> expected = all_orders(4, 4);
    std::erase_if(expected, [&](const auto& order) { return preemptions_in(order) > bound; });
    const Orders orders = explored(4, 4, {.preemptions = bound});
    EXPECT_EQ(orders.different, expected);
    EXPECT_EQ(orders.runs, expected.size());
  }
}

TEST(Exhaustive, is_the_same_in_shards) {
  std::set<std::string> together;
  std::uint64_t runs = 0;
  for (const std::uint32_t first : {0U, 1U}) {
    for (const std::uint32_t second : {0U, 1U}) {
      const Orders shard = explored(4, 4, {.prefix = {first, second}});
      together.insert(shard.different.begin(), shard.different.end());
      runs += shard.runs;
    }
  }
  EXPECT_EQ(together, all_orders(4, 4));
  EXPECT_EQ(runs, together.size());
}

TEST(Exhaustive, tries_what_chance_finds) {
  const std::set<std::string> all = explored(3, 3, {}).different;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    ListedChoices choices({}, seed);
    EXPECT_TRUE(all.contains(order_of_steps(choices, 3, 3)));
  }
}

TEST(SwitchChoices, let_a_paused_actor_run_only_when_no_other_can) {
  // The process that was made last runs first.
  SwitchChoices at_step_two({{.kind = Switch::Kind::pause, .from = 1, .step = 2}});
  EXPECT_EQ(order_of_steps(at_step_two, 3, 4), "bbaaabb");
  SwitchChoices both({{.kind = Switch::Kind::pause, .from = 0, .step = 1},
                      {.kind = Switch::Kind::pause, .from = 1, .step = 1}});
  EXPECT_EQ(order_of_steps(both, 3, 3), "baaabb");
  SwitchChoices not_reached({{.kind = Switch::Kind::pause, .from = 0, .step = 9}});
  EXPECT_EQ(order_of_steps(not_reached, 2, 2), "bbaa");
  EXPECT_TRUE(not_reached.switches().empty());
}

TEST(Choices, are_a_text_that_reads_back) {
  const std::vector<std::uint32_t> answers = {0, 2, 1, 10, 0};
  EXPECT_EQ(to_text(answers), "0.2.1.10");
  EXPECT_EQ(parse_choices("0.2.1.10"), (std::vector<std::uint32_t>{0, 2, 1, 10}));
  EXPECT_EQ(parse_choices(""), std::vector<std::uint32_t>{});
  EXPECT_FALSE(parse_choices("1..2"));
  EXPECT_FALSE(parse_choices("1."));
  EXPECT_FALSE(parse_choices("x"));
}

TEST(Choices, are_a_text_that_counts_usual_answers) {
  const std::vector<std::uint32_t> answers = {0, 0, 0, 0, 2, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 0};
  EXPECT_EQ(to_text(answers), "+4.2.0.0.1.+3.3");
  EXPECT_EQ(parse_choices("+4.2.0.0.1.+3.3"), std::vector(answers.begin(), answers.end() - 4));
  EXPECT_EQ(parse_choices("0.0.0.0.2.0.0.1.0.0.0.3"), parse_choices("+4.2.+2.1.+3.3"));
  EXPECT_FALSE(parse_choices("+"));
  EXPECT_FALSE(parse_choices("+-1"));
  EXPECT_FALSE(parse_choices("+1000001"));
  EXPECT_FALSE(parse_choices("+600000.+600000"));
}

}  // namespace
}  // namespace lastref::harness
