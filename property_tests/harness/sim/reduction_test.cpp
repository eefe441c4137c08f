// Orders that lead to a known state are not varied further: all that any order shows, those that
// are left show as well.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <lastref/owners.hpp>

#include "harness/choice/choices.hpp"
#include "harness/choice/footprint.hpp"
#include "harness/choice/source_set_choices.hpp"
#include "harness/scenario/scenario.hpp"
#include "harness/sim/accesses.hpp"
#include "harness/sim/happens_before.hpp"
#include "harness/sim/sim_world.hpp"
#include "impl/os/shared_word.hpp"

namespace lastref::harness {
namespace {

using sim::HappensBefore;

/// A step of an actor: the objects that it reads, adds to, and writes, each by one character.
struct Made {
  std::uint32_t actor = 0;
  std::string_view writes = {};
  std::string_view reads = {};
  std::string_view adds = {};
};

std::uint64_t state_after(const std::vector<Made>& steps) {
  HappensBefore order;
  for (const Made& each : steps) {
    std::map<std::uint64_t, Access> accesses{{each.actor, Access::write}};
    for (const auto& [objects, access] : {std::pair(each.writes, Access::write),
                                          std::pair(each.reads, Access::read),
                                          std::pair(each.adds, Access::add)}) {
      for (const char object : objects) {
        accesses[static_cast<std::uint64_t>(object)] = access;
      }
    }
    Footprint footprint;
    for (const auto& [object, access] : accesses) {
      footprint.push_back({.object = object, .access = access});
    }
    order.end_step(each.actor, footprint);
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

TEST(HappensBefore, has_one_state_for_both_orders_of_accesses_of_one_kind) {
  const Made write{.actor = 1, .writes = "a"};
  const Made read{.actor = 2, .reads = "a"};
  const Made other_read{.actor = 3, .reads = "a"};
  const Made add{.actor = 4, .adds = "a"};
  const Made other_add{.actor = 5, .adds = "a"};
  EXPECT_EQ(state_after({write, read, other_read}), state_after({write, other_read, read}));
  EXPECT_EQ(state_after({write, add, other_add}), state_after({write, other_add, add}));
  EXPECT_NE(state_after({write, read}), state_after({read, write}));
  EXPECT_NE(state_after({write, add}), state_after({add, write}));
  EXPECT_NE(state_after({add, read}), state_after({read, add}));
  EXPECT_NE(state_after({add, read, other_add}), state_after({other_add, add, read}));
}

using sim::Accesses;
using sim::Part;

/// Whether the order of both matters.
template <typename One, typename Other>
bool are_ordered(const One& one, const Other& other) {
  const auto footprint_of = [](const auto& access, std::uint64_t process) {
    Accesses accesses;
    accesses.are_noted = true;
    access(accesses);
    const auto noted = accesses.end_step(process);
    return Footprint(noted.begin(), noted.end());
  };
  return conflict(footprint_of(one, 1), footprint_of(other, 2));
}

TEST(Accesses, to_ranges_conflict_if_they_overlap_and_one_of_them_writes) {
  constexpr std::uint64_t large = 1'000'000;
  const std::array<std::pair<std::uint64_t, std::uint64_t>, 5> ranges{
      {{0, 8}, {8, 16}, {0, 100}, {200, large}, {4, large}}};
  for (const auto& [begin, end] : ranges) {
    for (const auto& [other_begin, other_end] : ranges) {
      const auto to = [](Access access, std::uint64_t first, std::uint64_t last) {
        return [=](Accesses& accesses) {
          accesses.touch_range(Part::content, 7, access, first, last);
        };
      };
      const bool overlap = begin < other_end && other_begin < end;
      const bool are_small = end < large && other_end < large;
      for (const Access access : {Access::read, Access::write}) {
        const bool ordered =
            are_ordered(to(Access::write, begin, end), to(access, other_begin, other_end));
        EXPECT_TRUE(ordered || !overlap) << begin << ' ' << end << ' ' << other_begin;
        EXPECT_TRUE(!ordered || overlap || !are_small) << begin << ' ' << end << ' ' << other_begin;
      }
      EXPECT_FALSE(
          are_ordered(to(Access::read, begin, end), to(Access::read, other_begin, other_end)));
    }
  }
}

TEST(Accesses, to_everything_conflict_with_all) {
  const auto none = [](Accesses&) {};
  EXPECT_TRUE(are_ordered([](Accesses& accesses) { accesses.touch_all(); }, none));
  EXPECT_FALSE(are_ordered(none, none));
}

/// What the processes of a run have seen: for each its records, in its own order. And the verdict.
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
  std::multiset<std::string> claims;
  for (const Finding& each : outcome.findings) {
    claims.insert(each.claim);
  }
  for (const std::string& each : claims) {
    all += each + '\n';
  }
  return all;
}

struct Found {
  std::set<std::string> seen;
  std::uint64_t runs = 0;
};

template <typename Enumerated>
Found explored(const Scenario& scenario, Enumerated&& choices, const SimOptions& options) {
  SimWorld world(options);
  world.keep_journal(/*kept=*/true);
  Found found;
  do {
    const Outcome outcome = world.run(scenario, {}, choices);
    if (!outcome.is_cut_off) {
      found.seen.insert(seen_by_each(world.journal(), outcome));
    }
    ++found.runs;
  } while (choices.advance());
  EXPECT_TRUE(choices.deterministic());
  return found;
}

SimOptions options_of(const std::string& ask_after) {
  return {.arena = true, .knows_states = true, .ask_after = ask_after};
}

void expect_same(const Found& all, const Found& some, const char* search) {
  EXPECT_EQ(all.seen.size(), some.seen.size());
  EXPECT_TRUE(all.seen == some.seen);
  EXPECT_LE(some.runs, all.runs);
  std::cout << search << ": " << all.runs << " orders, " << some.runs << " of them needed, "
            << all.seen.size() << " different\n";
}

void expect_all(const Scenario& scenario,
                const ExhaustiveBounds& bounds,
                const std::string& ask_after) {
  SCOPED_TRACE(scenario.name);
  ExhaustiveBounds reducing = bounds;
  reducing.reduces = true;
  expect_same(explored(scenario, ExhaustiveChoices(bounds), options_of(ask_after)),
              explored(scenario, ExhaustiveChoices(reducing), options_of(ask_after)),
              scenario.name.c_str());
}

/// Without a bound: source sets show the same as all orders. Where there are too many, they show
/// the same as all states, and what orders with two preemptions show: an error in the conflicts
/// could hide the same from both.
void expect_all_without_bound(const Scenario& scenario, bool tries_all_orders) {
  SCOPED_TRACE(scenario.name);
  const SimOptions options = options_of("go");
  const Found states = explored(scenario, ExhaustiveChoices({.reduces = true}), options);
  const Found source_sets = explored(scenario, SourceSetChoices(), options);
  expect_same(states, source_sets, (scenario.name + ", states").c_str());
  if (tries_all_orders) {
    const Found all = explored(scenario, ExhaustiveChoices(), options);
    expect_same(all, source_sets, scenario.name.c_str());
  } else {
    const Found some = explored(scenario, ExhaustiveChoices({.preemptions = 2}), options);
    EXPECT_TRUE(std::ranges::includes(source_sets.seen, some.seen));
  }
}

/// What a role of a toy works with.
struct Job {
  Stage& stage;
  std::string path;  ///< Other roles may have the same.
  os::Fd file;       ///< Open there
  std::size_t role = 0;

  os::Os& os() const { return stage.os(); }
  /// In the journal, and a finding, so that runs that see different things are told apart.
  void note_seen(std::string_view what, std::string_view seen) const {
    stage.refute("toy: " + std::string(what), std::string(seen));
  }
  void note_seen(std::string_view what, int seen) const { note_seen(what, std::to_string(seen)); }
};

using Work = Status (*)(const Job& job);

Status note_names(const Job& job, const std::string& folder) {
  LASTREF_TRY(open, os::open_file(job.os(), folder, {.folder = true}));
  LASTREF_TRY(entries, job.os().read_folder(open.get()));
  std::string names;
  for (const os::FolderEntry& each : entries) {
    names += each.name + ' ';
  }
  job.note_seen("names", names);
  return ok();
}

Status note_content(const Job& job, os::Fd file) {
  std::array<std::byte, 24> content{};
  LASTREF_TRY(size, job.os().read_at(file, content, 0));
  std::string digits;
  for (const std::byte each : std::span(content).first(size)) {
    digits += static_cast<char>('0' + static_cast<int>(each));
  }
  job.note_seen("content", digits);
  return ok();
}

Status write_digit(const Job& job, int digit, std::uint64_t offset) {
  const std::array bytes = {static_cast<std::byte>(digit)};
  return os::write_all_at(job.os(), job.file, bytes, offset);
}

Status add_one(const Job& job) {
  std::array<std::byte, 1> digit{};
  LASTREF_CHECK(job.os().read_at(job.file, digit, 0));
  job.note_seen("digit", static_cast<int>(digit[0]));
  return write_digit(job, static_cast<int>(digit[0]) + 1, 0);
}

/// Each role writes its own place, which may be beyond the end, and reads all.
Status write_own_place(const Job& job) {
  LASTREF_CHECK(write_digit(job, 1, 8 * job.role));
  return note_content(job, job.file);
}

Status see_size(const Job& job) {
  LASTREF_TRY(status, job.os().status(job.file));
  job.note_seen("size", static_cast<int>(status.size));
  return write_digit(job, 2, status.size);
}

Status make_and_unlink(const Job& job) {
  const std::string name = job.path + ".new";
  const auto file = os::open_file(job.os(), name, {.write = true, .create = true});
  job.note_seen("made", file.has_value());
  job.note_seen("unlinked", job.os().unlink(name).has_value());
  return ok();
}

/// The last role only looks.
Status make_or_list(const Job& job) {
  if (job.role > 0) {
    return note_names(job, job.stage.folder());
  }
  const std::string name = job.path + ".new";
  job.note_seen("made", job.os().make_folder(name, 0700).has_value());
  job.note_seen("removed", job.os().remove_folder(name).has_value());
  return ok();
}

/// The order of the entries of a folder is that in which they were made.
Status make_then_list(const Job& job) {
  const std::string name = job.path + std::to_string(job.role);
  job.note_seen("made", job.os().make_folder(name, 0700).has_value());
  LASTREF_CHECK(note_names(job, job.stage.folder()));
  return job.os().remove_folder(name);
}

/// Both roles move their file to one name.
Status rename_to_one_name(const Job& job) {
  const std::string target = job.stage.folder() + "/target";
  LASTREF_CHECK(write_digit(job, static_cast<int>(job.role) + 1, 0));
  job.note_seen("renamed", job.os().rename(job.path, target).has_value());
  const auto file = os::open_file(job.os(), target, {});
  job.note_seen("found", file.has_value());
  return file ? note_content(job, file->get()) : ok();
}

/// Role 1 moves its file; others look for one of the old name.
Status rename_or_find(const Job& job) {
  if (job.role == 1) {
    job.note_seen("renamed", job.os().rename(job.path, job.path + ".old").has_value());
    return job.os().unlink(job.path + ".old");
  }
  job.note_seen("found", job.os().status_at(job.path).has_value());
  return ok();
}

/// Role 0 removes the folder in which others make something.
Status make_in_removed_folder(const Job& job) {
  const std::string folder = job.stage.folder() + "/folder";
  if (job.role == 0) {
    job.note_seen("made", job.os().make_folder(folder, 0700).has_value());
    job.note_seen("removed", job.os().remove_folder(folder).has_value());
    return ok();
  }
  job.note_seen("made inside", job.os().make_folder(folder + "/inside", 0700).has_value());
  job.note_seen("removed", job.os().remove_folder(folder + "/inside").has_value());
  job.note_seen("removed", job.os().remove_folder(folder).has_value());
  return ok();
}

Status lock_and_unlock(const Job& job) {
  for (const os::LockKind kind : {os::LockKind::exclusive, os::LockKind::none}) {
    job.note_seen("locked", job.os().lock_range(job.file, {.kind = kind}).has_value());
  }
  return ok();
}

/// Role 0 asks which locks there are; each other one locks its own byte.
Status lock_own_byte(const Job& job) {
  os::LockRange own{.kind = os::LockKind::exclusive, .start = job.role};
  if (job.role == 0) {
    own.start = 0;
    own.length = 0;
    LASTREF_TRY(found, job.os().find_lock(job.file, own));
    job.note_seen("first", found ? static_cast<int>(found->range.start) : -1);
    return ok();
  }
  job.note_seen("locked", job.os().lock_range(job.file, own).has_value());
  own.kind = os::LockKind::none;
  return job.os().lock_range(job.file, own);
}

/// Each role counts in the first word, not atomically, and in its own.
Status use_words(const Job& job) {
  LASTREF_CHECK(job.os().allocate(job.file, 0, 32));
  LASTREF_TRY(
      map, os::map_memory(job.os(), {.file = job.file, .size = 4096, .kind = os::MapKind::shared}));
  os::SharedWord first(job.os(), map.get().data());
  const std::uint64_t count = first.load();
  job.note_seen("count", static_cast<int>(count));
  first.store(count + 1);
  os::SharedWord(job.os(), map.get().data() + 8 * (job.role + 1)).store(1);
  return ok();
}

/// Role 0 stores to a mapped file by a call. Others see it once both have made calls in between.
Status store_late(const Job& job) {
  LASTREF_TRY(
      map, os::map_memory(job.os(), {.file = job.file, .size = 4096, .kind = os::MapKind::shared}));
  if (job.role == 0) {
    LASTREF_CHECK(write_digit(job, 3, 0));
    return job.os().sync(job.file);
  }
  std::ignore = job.os().read_at(job.file, {}, 100);
  os::SharedWord word(job.os(), map.get().data());
  job.note_seen("word", static_cast<int>(word.load()));
  return ok();
}

/// Role 0 listens, the others connect; no role waits.
Status send_and_receive(const Job& job) {
  const std::string path = job.stage.folder() + "/socket";
  LASTREF_TRY(made, job.os().make_socket());
  const os::UniqueFd socket(job.os(), made);
  std::array<std::byte, 1> byte{std::byte{7}};
  if (job.role > 0) {
    const Status connected = job.os().connect(socket.get(), path);
    job.note_seen("connected", connected.has_value());
    if (connected) {
      job.note_seen("sent", job.os().send(socket.get(), byte, {}).has_value());
      job.note_seen("received", job.os().receive(socket.get(), byte).has_value());
    }
    return ok();
  }
  LASTREF_CHECK(job.os().bind(socket.get(), path));
  LASTREF_CHECK(job.os().listen(socket.get()));
  if (const auto accepted = job.os().accept(socket.get())) {
    const os::UniqueFd connection(job.os(), *accepted);
    std::array item = {os::PollItem{.fd = *accepted, .want_read = true}};
    LASTREF_CHECK(job.os().poll(item, std::chrono::nanoseconds(0)).map([](std::size_t) {}));
    job.note_seen("readable", item[0].readable);
    job.note_seen("hung up", item[0].hung_up);
    job.note_seen("received", job.os().receive(*accepted, byte).has_value());
    job.note_seen("sent", job.os().send(*accepted, byte, {}).has_value());
  }
  return job.os().unlink(path);
}

struct NamedWork {
  const char* name;
  Work work;
  std::uint32_t preemptions;  ///< As many as the search without reduction affords
  bool affords_all = true;    ///< Whether it affords all orders of two processes.
};

void PrintTo(const NamedWork& work, std::ostream* out) {
  *out << work.name;
}

constexpr std::array works = {NamedWork{"add_one", add_one, 3},
                              NamedWork{"write_own_place", write_own_place, 3},
                              NamedWork{"see_size", see_size, 3},
                              NamedWork{"make_and_unlink", make_and_unlink, 3},
                              NamedWork{"make_or_list", make_or_list, 3},
                              NamedWork{"make_then_list", make_then_list, 2},
                              NamedWork{"rename_to_one_name", rename_to_one_name, 2},
                              NamedWork{"rename_or_find", rename_or_find, 3},
                              NamedWork{"make_in_removed_folder", make_in_removed_folder, 3},
                              NamedWork{"lock_and_unlock", lock_and_unlock, 3},
                              NamedWork{"lock_own_byte", lock_own_byte, 3},
                              NamedWork{"use_words", use_words, 2, /*affords_all=*/false},
                              NamedWork{"store_late", store_late, 2},
                              NamedWork{"send_and_receive", send_and_receive, 2}};

enum class Root : std::uint8_t { waits, ends };

/// Each role works so many times on its file: names[i] is the name of that of role i. A root that
/// waits for them then notes the names and contents that are left; one that does not has fewer
/// orders.
Scenario toy(const std::string& names, const NamedWork& work, int times, Root root = Root::waits) {
  Scenario made{.name = std::string("toy/") + work.name + "_on_" + names,
                .sentence = "They work.",
                .rows = {},
                .roles = {}};
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
         if (root == Root::ends) {
           return ok();
         }
         for (std::size_t role = 0; role < names.size(); ++role) {
           stage.await("done_" + std::to_string(role));
         }
         const Job job{.stage = stage, .path = stage.folder(), .file = os::Fd::none};
         LASTREF_CHECK(note_names(job, job.path));
         for (const std::string& name :
              {std::string("a"), std::string("b"), std::string("target")}) {
           const std::string path = job.path + "/" + name;
           if (const auto file = os::open_file(stage.os(), path, {})) {
             LASTREF_CHECK(note_content(job, file->get()));
             LASTREF_CHECK(stage.os().unlink(path));
           }
         }
         return ok();
       }});
  for (std::size_t role = 0; role < names.size(); ++role) {
    made.roles.push_back({"role_" + std::to_string(role), [=](Stage& stage) -> Status {
                            const std::string path = stage.folder() + "/" + names[role];
                            LASTREF_TRY(file, os::open_file(stage.os(), path, {.write = true}));
                            const Job job{
                                .stage = stage, .path = path, .file = file.get(), .role = role};
                            stage.tell("ready_" + std::to_string(role));
                            stage.await("go");
                            for (int time = 0; time < times; ++time) {
                              if (const Status worked = work.work(job); !worked) {
                                job.note_seen("failed", describe(worked.error()));
                              }
                            }
                            stage.tell("done_" + std::to_string(role));
                            return ok();
                          }});
  }
  return made;
}

class ReductionOf : public testing::TestWithParam<NamedWork> {};

TEST_P(ReductionOf, toys_shows_all_that_two_processes_can_see) {
  for (const char* names : {"ab", "aa"}) {
    for (std::uint32_t preemptions = 0; preemptions <= GetParam().preemptions; ++preemptions) {
      expect_all(toy(names, GetParam(), 1), {.preemptions = preemptions}, "go");
    }
    expect_all(toy(names, GetParam(), 2), {.preemptions = 1}, "go");
  }
}

TEST_P(ReductionOf, toys_shows_all_without_a_bound) {
  expect_all_without_bound(toy("ab", GetParam(), 1, Root::ends), /*tries_all_orders=*/false);
  expect_all_without_bound(toy("aa", GetParam(), 1, Root::ends), GetParam().affords_all);
  expect_all_without_bound(toy("aa", GetParam(), 1), /*tries_all_orders=*/false);
}

TEST_P(ReductionOf, toys_shows_all_of_three_processes_without_a_bound) {
  const char* const names = GetParam().affords_all ? "aaa" : "aab";
  expect_all_without_bound(toy(names, GetParam(), 1, Root::ends), /*tries_all_orders=*/false);
}

TEST_P(ReductionOf, toys_shows_all_that_three_processes_can_see) {
  for (const char* names : {"abb", "aaa"}) {
    expect_all(toy(names, GetParam(), 1), {.preemptions = 1}, "go");
  }
}

INSTANTIATE_TEST_SUITE_P(Every, ReductionOf, testing::ValuesIn(works), [](const auto& each) {
  return std::string(each.param.name);
});

TEST(Reduction, shows_all_that_is_within_a_bound_of_deviations) {
  expect_all(toy("ab", works[0], 2), {.deviations = 2}, "go");
  expect_all(toy("aa", works[0], 2), {.deviations = 2}, "go");
}

TEST(Reduction, leaves_out_orders_that_lead_to_the_same_state) {
  const Scenario apart = toy("ab", works[0], 1, Root::ends);
  const auto runs = [&](auto&& choices) {
    const Found found = explored(apart, choices, options_of("go"));
    EXPECT_EQ(found.seen.size(), 1U);
    return found.runs;
  };
  const std::uint64_t all = runs(ExhaustiveChoices());
  const std::uint64_t states = runs(ExhaustiveChoices({.reduces = true}));
  const std::uint64_t source_sets = runs(SourceSetChoices());
  EXPECT_GT(all, 10 * states);
  EXPECT_GT(states, 10 * source_sets);
  std::cout << all << " orders, " << states << " of them needed with states, " << source_sets
            << " with source sets\n";
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
