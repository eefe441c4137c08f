// Orders that lead to a known state are not varied further: all that any order shows, those that
// are left show as well.
#include <array>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include <lastref/owners.hpp>

#include "harness/choice/choices.hpp"
#include "harness/scenario/scenario.hpp"
#include "harness/sim/happens_before.hpp"
#include "harness/sim/sim_world.hpp"

namespace lastref::harness {
namespace {

using sim::Access;
using sim::HappensBefore;

/// Its steps in order: an actor, which is its own process, and the objects that it writes.
std::uint64_t state_after(std::initializer_list<std::pair<std::uint32_t, const char*>> steps) {
  static const std::array<char, 128> objects{};
  HappensBefore order;
  for (const auto& [actor, writes] : steps) {
    for (const char* each = writes; *each != 0; ++each) {
      order.touch(&objects[static_cast<std::size_t>(*each)], Access::write);
    }
    order.end_step(actor, &objects[actor]);
  }
  return order.state();
}

TEST(HappensBefore, has_one_state_for_both_orders_of_steps_on_different_objects) {
  EXPECT_EQ(state_after({{1, "a"}, {2, "b"}}), state_after({{2, "b"}, {1, "a"}}));
  EXPECT_EQ(state_after({{1, "a"}, {1, ""}, {2, "b"}}), state_after({{1, "a"}, {2, "b"}, {1, ""}}));
}

TEST(HappensBefore, has_two_states_for_both_orders_of_steps_on_one_object) {
  EXPECT_NE(state_after({{1, "a"}, {2, "a"}}), state_after({{2, "a"}, {1, "a"}}));
  EXPECT_NE(state_after({{1, "ab"}, {2, "bc"}}), state_after({{2, "bc"}, {1, "ab"}}));
  EXPECT_NE(state_after({{1, "a"}}), state_after({{2, "a"}}));
  EXPECT_NE(state_after({{1, "a"}}), state_after({{1, "a"}, {2, ""}}));
}

TEST(HappensBefore, has_one_state_for_both_orders_of_two_reads) {
  constexpr char object = 0;
  constexpr std::array<char, 3> process{};
  const auto after = [&](std::array<std::uint32_t, 3> actors, Access last) {
    HappensBefore order;
    order.touch(&object, Access::write);
    order.end_step(actors[0], &process[actors[0]]);
    order.touch(&object, Access::read);
    order.end_step(actors[1], &process[actors[1]]);
    order.touch(&object, last);
    order.end_step(actors[2], &process[actors[2]]);
    return order.state();
  };
  EXPECT_EQ(after({0, 1, 2}, Access::read), after({0, 2, 1}, Access::read));
  EXPECT_NE(after({0, 1, 2}, Access::write), after({0, 2, 1}, Access::write));
}

TEST(HappensBefore, orders_a_step_that_touches_all_with_every_other) {
  const auto after = [](bool is_first) {
    constexpr std::array<char, 3> objects{};
    HappensBefore order;
    for (const bool all : {is_first, !is_first}) {
      if (all) {
        order.touch_all();
      } else {
        order.touch(&objects[0], Access::write);
      }
      order.end_step(all ? 1 : 2, &objects[all ? 1 : 2]);
    }
    return order.state();
  };
  EXPECT_NE(after(true), after(false));
}

/// What the processes of a run have seen: for each its records, in its own order.
std::string seen_by_each(const std::string& journal, const Outcome& outcome) {
  std::map<std::string, std::string> by_role;
  std::istringstream lines(journal);
  for (std::string line; std::getline(lines, line);) {
    by_role[line.substr(0, line.find(' '))] += line + '\n';
  }
  std::string all;
  for (const auto& [role, records] : by_role) {
    all += records;
  }
  for (const Finding& each : outcome.findings) {
    all += each.claim + '\n';
  }
  return all;
}

struct Found {
  std::set<std::string> seen;
  std::uint64_t runs = 0;
  std::uint64_t reduced = 0;
};

Found explored(const Scenario& scenario, ExhaustiveBounds bounds, const SimOptions& options) {
  SimOptions known = options;
  known.knows_states = bounds.reduces;
  SimWorld world(known);
  world.keep_journal(/*kept=*/true);
  ExhaustiveChoices choices(std::move(bounds));
  Found found;
  do {
    const std::uint64_t reduced = choices.reduced();
    const Outcome outcome = world.run(scenario, {}, choices);
    // What a run shows that came to a known state, an earlier one has shown.
    if (choices.reduced() == reduced) {
      found.seen.insert(seen_by_each(world.journal(), outcome));
    }
    ++found.runs;
  } while (choices.advance());
  EXPECT_TRUE(choices.deterministic());
  found.reduced = choices.reduced();
  return found;
}

void expect_all(const Scenario& scenario,
                const ExhaustiveBounds& bounds,
                const std::string& ask_after) {
  SCOPED_TRACE(scenario.name);
  const SimOptions options{.arena = true, .ask_after = ask_after};
  ExhaustiveBounds reducing = bounds;
  reducing.reduces = true;
  const Found all = explored(scenario, bounds, options);
  const Found some = explored(scenario, reducing, options);
  EXPECT_EQ(all.seen.size(), some.seen.size());
  EXPECT_TRUE(all.seen == some.seen);
  EXPECT_LE(some.runs, all.runs);
  EXPECT_EQ(all.reduced, 0U);
  std::cout << scenario.name << ": " << all.runs << " orders, " << some.runs << " of them needed, "
            << all.seen.size() << " different\n";
}

/// In the journal, and a finding, so that runs that see different things are told apart.
void note_seen(Stage& stage, std::string_view what, int seen) {
  stage.refute("toy: " + std::string(what), std::to_string(seen));
}

Status add_one(Stage& stage, const std::string&, os::Fd file) {
  std::array<std::byte, 1> digit{};
  LASTREF_CHECK(stage.os().read_at(file, digit, 0));
  note_seen(stage, "digit", static_cast<int>(digit[0]));
  digit[0] = static_cast<std::byte>(static_cast<int>(digit[0]) + 1);
  return os::write_all_at(stage.os(), file, digit, 0);
}

Status make_and_unlink(Stage& stage, const std::string& path, os::Fd) {
  const std::string name = path + ".new";
  const auto file = os::open_file(stage.os(), name, {.write = true, .create = true});
  note_seen(stage, "made", file.has_value());
  note_seen(stage, "unlinked", stage.os().unlink(name).has_value());
  return ok();
}

Status lock_and_unlock(Stage& stage, const std::string&, os::Fd file) {
  for (const os::LockKind kind : {os::LockKind::exclusive, os::LockKind::none}) {
    note_seen(stage, "locked", stage.os().lock_range(file, {.kind = kind}).has_value());
  }
  return ok();
}

/// On a path that others may use too, and the open file there.
using Work = Status (*)(Stage& stage, const std::string& path, os::Fd file);

/// Each role works so many times on its file: names[i] is the name of that of role i.
Scenario toy(const std::string& names, Work work, int times) {
  Scenario made{.name = "toy/works_on_" + names, .sentence = "They work.", .rows = {}, .roles = {}};
  const std::set<char> files(names.begin(), names.end());
  made.roles.push_back(
      {"root", [=](Stage& stage) -> Status {
         for (const char each : files) {
           const std::string path = stage.folder() + "/" + each;
           LASTREF_TRY(file, os::open_file(stage.os(), path, {.write = true, .create = true}));
           const std::array zero = {std::byte{0}};
           LASTREF_CHECK(os::write_all_at(stage.os(), file.get(), zero, 0));
         }
         for (std::size_t role = 0; role < names.size(); ++role) {
           LASTREF_CHECK(stage.start("role_" + std::to_string(role)));
         }
         stage.tell("go");
         for (std::size_t role = 0; role < names.size(); ++role) {
           stage.await("done_" + std::to_string(role));
         }
         for (const char each : files) {
           LASTREF_CHECK(stage.os().unlink(stage.folder() + "/" + each));
         }
         return ok();
       }});
  for (std::size_t role = 0; role < names.size(); ++role) {
    made.roles.push_back({"role_" + std::to_string(role), [=](Stage& stage) -> Status {
                            const std::string path = stage.folder() + "/" + names[role];
                            LASTREF_TRY(file, os::open_file(stage.os(), path, {.write = true}));
                            stage.tell("ready_" + std::to_string(role));
                            stage.await("go");
                            for (int time = 0; time < times; ++time) {
                              LASTREF_CHECK(work(stage, path, file.get()));
                            }
                            stage.tell("done_" + std::to_string(role));
                            return ok();
                          }});
  }
  return made;
}

TEST(Reduction, shows_all_that_two_processes_can_see) {
  for (const Work work : {add_one, make_and_unlink, lock_and_unlock}) {
    for (const char* names : {"ab", "aa"}) {
      for (const std::uint32_t preemptions : {0U, 1U, 2U}) {
        expect_all(toy(names, work, 2), {.preemptions = preemptions}, "go");
      }
      expect_all(toy(names, work, 1), {.preemptions = 3}, "go");
    }
  }
}

TEST(Reduction, shows_all_that_three_processes_can_see) {
  for (const Work work : {add_one, make_and_unlink, lock_and_unlock}) {
    for (const char* names : {"abc", "aab", "aaa"}) {
      expect_all(toy(names, work, 1), {.preemptions = 1}, "go");
    }
  }
}

TEST(Reduction, shows_all_that_is_within_a_bound_of_deviations) {
  expect_all(toy("ab", add_one, 2), {.deviations = 2}, "go");
  expect_all(toy("aa", add_one, 2), {.deviations = 2}, "go");
}

TEST(Reduction, leaves_out_orders_that_lead_to_the_same_state) {
  const SimOptions options{.arena = true, .ask_after = "go"};
  const Found all = explored(toy("ab", add_one, 1), {.preemptions = 4}, options);
  const Found some = explored(toy("ab", add_one, 1), {.preemptions = 4, .reduces = true}, options);
  EXPECT_TRUE(all.seen == some.seen);
  EXPECT_GT(2 * all.runs, 3 * some.runs);
  EXPECT_GT(some.reduced, 0U);
  std::cout << all.runs << " orders, " << some.runs << " of them needed\n";
}

TEST(Reduction, shows_all_that_processes_of_scenarios_can_see) {
  for (const auto& [name, ask_after, preemptions] :
       {std::tuple{"tracker/two_holders_release_at_once", "go", 0U},
        std::tuple{"tracker/release_races_with_register", "", 0U},
        std::tuple{"caches/two_caches_sweep_at_once", "", 0U}}) {
    const Scenario* const scenario = scenario_named(name);
    ASSERT_NE(scenario, nullptr) << name;
    expect_all(*scenario, {.preemptions = preemptions, .deviations = 2}, ask_after);
  }
}

}  // namespace
}  // namespace lastref::harness
