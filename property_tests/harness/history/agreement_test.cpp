// agreement_test: the oracle agrees with a search of all orders, for every history of three
// operations and for thousands of larger ones.
#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "harness/history/history.hpp"
#include "harness/history/history_text.hpp"
#include "property_tests/harness/history/search.hpp"
#include "property_tests/harness/history/simulation.hpp"
#include "property_tests/support/printing.hpp"

namespace lastref::harness::oracle {
namespace {

using pretend::has_lawful_order;
using pretend::mutate;
using pretend::simulate;

bool agrees(const History& history) {
  return linearizable(history).empty() == has_lawful_order(history);
}

/// The smallest history that is left by removing operations while the two disagree.
std::string smallest_disagreement(History history) {
  for (std::size_t at = 0; at < history.operations.size();) {
    History less = history;
    less.operations.erase(less.operations.begin() + static_cast<std::ptrdiff_t>(at));
    if (agrees(less)) {
      ++at;
    } else {
      history = less;
      at = 0;
    }
  }
  const bool is_lawful = has_lawful_order(history);
  return to_text(history) + (is_lawful ? "is lawful" : "is not lawful");
}

/// Every kind of operation on one slot with every way to end, without moments. There are two
/// values; in every history that has only one, it is 1.
std::vector<Operation> every_operation() {
  std::vector<Operation> all;
  for (const std::uint64_t value : {1U, 2U}) {
    all.push_back({.value = value, .kind = OperationKind::get, .ending = Ending::value});
    for (const Ending ending : {Ending::pending, Ending::failed, Ending::yes, Ending::no}) {
      all.push_back({.value = value, .kind = OperationKind::put, .ending = ending});
    }
  }
  all.push_back({.kind = OperationKind::get, .ending = Ending::nothing});
  for (const Ending ending : {Ending::pending, Ending::failed, Ending::yes}) {
    all.push_back({.kind = OperationKind::freeze, .ending = ending});
  }
  return all;
}

/// The same with every possible pair of moments in 1..3.
std::vector<Operation> every_timed_operation() {
  std::vector<Operation> all;
  for (const Operation& each : every_operation()) {
    for (Moment invoked = 1; invoked <= 3; ++invoked) {
      Operation timed = each;
      timed.invoked = invoked;
      if (each.ending == Ending::pending) {
        all.push_back(timed);
        continue;
      }
      for (timed.returned = invoked; timed.returned <= 3; ++timed.returned) {
        all.push_back(timed);
      }
    }
  }
  return all;
}

TEST(EveryHistory, of_three_operations_on_one_slot_is_judged_as_by_a_search) {
  const std::vector<Operation> all = every_timed_operation();
  std::size_t lawful = 0;
  std::size_t wrong = 0;
  History history{.actors = {"a"}, .operations = std::vector<Operation>(3)};
  for (const Refusals refusals :
       {Refusals::when_frozen, Refusals::at_a_limit, Refusals::at_any_time}) {
    history.refusals = refusals;
    for (auto first = all.begin(); first != all.end(); ++first) {
      for (auto second = first; second != all.end(); ++second) {
        for (auto third = second; third != all.end(); ++third) {
          history.operations = {*first, *second, *third};
          const bool is_lawful = has_lawful_order(history);
          ++(is_lawful ? lawful : wrong);
          ASSERT_EQ(linearizable(history).empty(), is_lawful) << smallest_disagreement(history);
        }
      }
    }
  }
  EXPECT_EQ(lawful, 132'774U);
  EXPECT_EQ(wrong, 86'676U);
}

/// Several at a time, because a property runs only a hundred cases.
constexpr int histories_a_case = 100;

pretend::SimulationOptions any_options(std::mt19937_64& chance) {
  return {.operations = 1 + chance() % 9,
          .slots = 1 + chance() % 3,
          .values = 1 + chance() % 3,
          .reach = chance() % 8,
          .one_in_freezes = chance() % 2 == 0 ? 6U : 0U};
}

RC_GTEST_PROP(HistoryProperties, what_a_cache_answers_is_lawful, (std::uint64_t seed)) {
  std::mt19937_64 chance(seed);
  for (int at = 0; at < histories_a_case; ++at) {
    const History history = simulate(any_options(chance), chance);
    RC_LOG() << to_text(history);
    RC_ASSERT(linearizable(history) == std::vector<Finding>());
    RC_ASSERT(has_lawful_order(history));
  }
}

TEST(HistoryProperties, with_some_things_changed_they_are_judged_as_by_a_search) {
  int wrong = 0;
  int lawful = 0;
  EXPECT_TRUE(rc::check([&](std::uint64_t seed) {
    std::mt19937_64 chance(seed);
    for (int at = 0; at < histories_a_case; ++at) {
      History history = simulate(any_options(chance), chance);
      for (std::uint64_t changes = 1 + chance() % 3; changes > 0; --changes) {
        mutate(history, chance);
      }
      if (!agrees(history)) {
        RC_FAIL(smallest_disagreement(history));
      }
      ++(has_lawful_order(history) ? lawful : wrong);
    }
  }));
  // Over all cases, because a single case may have none by chance.
  EXPECT_GT(wrong, 0);
  EXPECT_GT(lawful, 0);
}

/// The slots that findings name, except those of a finding about two slots.
std::set<std::uint64_t> slots_blamed(const std::vector<Finding>& findings) {
  std::set<std::uint64_t> slots;
  for (const Finding& finding : findings) {
    if (finding.seen.find(" in slot ") == std::string::npos) {
      slots.insert(std::stoull(finding.seen.substr(std::string("slot ").size())));
    }
  }
  return slots;
}

/// The gets and puts of one slot, and every freeze.
History concerning(const History& history, std::uint64_t slot) {
  History part = history;
  std::erase_if(part.operations, [&](const Operation& each) {
    return each.kind != OperationKind::freeze && each.slot != slot;
  });
  return part;
}

RC_GTEST_PROP(HistoryProperties,
              a_slot_is_blamed_once_and_exactly_if_it_is_wrong_by_itself,
              (std::uint64_t seed)) {
  std::mt19937_64 chance(seed);
  for (int at = 0; at < histories_a_case; ++at) {
    const pretend::SimulationOptions options = any_options(chance);
    History history = simulate(options, chance);
    for (std::uint64_t changes = 1 + chance() % 4; changes > 0; --changes) {
      mutate(history, chance);
    }
    std::set<std::uint64_t> wrong;
    for (std::uint64_t slot = 0; slot < options.slots; ++slot) {
      if (!has_lawful_order(concerning(history, slot))) {
        wrong.insert(slot);
      }
    }
    const std::vector<Finding> findings = linearizable(history);
    RC_LOG() << to_text(history);
    RC_ASSERT(slots_blamed(findings) == wrong);
    RC_ASSERT(findings.size() <= wrong.size() + 1);
  }
}

RC_GTEST_PROP(HistoryProperties,
              the_order_in_which_operations_are_written_does_not_matter,
              (std::uint64_t seed)) {
  std::mt19937_64 chance(seed);
  for (int at = 0; at < histories_a_case; ++at) {
    History history = simulate(any_options(chance), chance);
    mutate(history, chance);
    const bool is_lawful = linearizable(history).empty();
    std::ranges::shuffle(history.operations, chance);
    RC_ASSERT(linearizable(history).empty() == is_lawful);
  }
}

TEST(LongHistory, that_is_lawful_has_no_finding_and_with_one_slip_it_has_one) {
  std::mt19937_64 chance(1);
  History history = simulate({.operations = 100'000,
                              .slots = 1000,
                              .values = 50,
                              .actors = 8,
                              .reach = 100,
                              .one_in_pending = 100,
                              .one_in_failed = 100,
                              .one_in_freezes = 0,
                              .refusals = Refusals::when_frozen},
                             chance);
  history.operations.push_back({.slot = 1000,
                                .value = 7,
                                .invoked = 0,
                                .returned = 9,
                                .kind = OperationKind::put,
                                .ending = Ending::yes});
  EXPECT_THAT(linearizable(history), testing::IsEmpty());
  history.operations.push_back(
      {.slot = 1000, .invoked = 10, .returned = 11, .ending = Ending::nothing});
  EXPECT_THAT(linearizable(history), testing::SizeIs(1));
}

}  // namespace
}  // namespace lastref::harness::oracle
