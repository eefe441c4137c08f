// stress_test: the outcome and the findings of a run without gates. This program is also the
// processes of those runs.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lastref/owners.hpp>

#include "harness/kernel/kernel_world.hpp"
#include "harness/stress/stress_campaign.hpp"

namespace lastref::harness {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

Status make_and_hold(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("shared.bin");
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(product.register_name(file));
  LASTREF_CHECK(product.make(file));
  LASTREF_CHECK(stage.start("client"));
  stage.await("the client holds");
  stage.stop("client");
  stage.resume("client");
  stage.kill("client");
  if (const std::size_t left = stage.processes("client"); left > 0) {
    stage.refute("a killed process is dead", std::to_string(left) + " live");
  }
  product.must_exist(file);
  return product.release(file);
}

Status hold(Stage& stage) {
  LASTREF_CHECK(stage.product().join());
  LASTREF_CHECK(stage.product().hold(stage.product().file("shared.bin")));
  stage.tell("the client holds");
  stage.stay_until_killed();
  return ok();
}

Status leave_a_file(Stage& stage) {
  stage.outside().write(stage.folder() + "/forgotten.bin", "bytes");
  return ok();
}

/// As the runtime of ThreadSanitizer does if it is killed while it starts.
Status leave_a_file_of_the_sanitizer(Stage& stage) {
  stage.outside().write(stage.spare_folder() + "/tsan.rodata.13", "bytes");
  return ok();
}

Status crash(Stage& /*stage*/) {
  std::_Exit(42);
}

Status claim_something(Stage& stage) {
  stage.send("letter", std::string("a\0b", 3));
  const Result<std::string> letter = stage.receive("letter");
  stage.refute("nothing is sent", letter.value_or("nothing"));
  return ok();
}

Status limit(Stage& stage) {
  stage.limits().storage(4096, 1);
  return ok();
}

/// Kills a process that usually has had no time yet to report its pid.
Status kill_at_birth(Stage& stage) {
  LASTREF_TRY(child,
              stage.os().spawn({.entry = "client", .arguments = {""}, .fds = {}, .blocked = {}}));
  const os::UniqueFd process(stage.os(), child.process);
  LASTREF_CHECK(stage.os().signal_process(process.get(), os::Signal::kill));
  std::array items{os::PollItem{.fd = process.get(), .want_read = true}};
  LASTREF_CHECK(status_of(stage.os().poll(items, {})));
  LASTREF_CHECK(status_of(stage.os().wait_child(process.get())));
  if (const std::size_t left = stage.processes("client"); left > 0) {
    stage.refute("a killed process is not counted", std::to_string(left) + " live");
  }
  return ok();
}

constexpr Parameter<int> number = {.name = "number", .usual = 1, .values = {1, 2}};

Status report_number(Stage& stage) {
  if (stage.value(number) == 2) {
    stage.refute(stage.role() + " has the usual number", "2");
  }
  return ok();
}

/// Two threads and an unprotected variable.
Status race(Stage& /*stage*/) {
  int word = 0;
  std::thread other([&word] { ++word; });
  ++word;
  other.join();
  return ok();
}

/// Two threads that add to a word in two steps.
Status add_in_two_steps(Stage& stage) {
  constexpr int additions = 100;
  std::atomic<int> word = 0;
  const auto add = [&] {
    for (int each = 0; each < additions; ++each) {
      const int seen = word;
      stage.os().access_atomic(&word, /*writes=*/true);
      word = seen + 1;
    }
  };
  std::thread other(add);
  add();
  other.join();
  if (word != 2 * additions) {
    stage.refute("no addition is lost", std::to_string(word));
  }
  return ok();
}

constexpr auto limit_of_time = std::chrono::milliseconds(400);

/// Sends a message only after a time limit has ended.
Status report_late(Stage& stage) {
  LASTREF_CHECK(stage.start("client"));
  LASTREF_CHECK(status_of(stage.os().poll({}, limit_of_time)));
  stage.tell("the limit has ended");
  return ok();
}

Status await_the_limit(Stage& stage) {
  if (!stage.await("the limit has ended")) {
    stage.refute("a process that waits for a limit of time can still tell", "it was let down");
  }
  return ok();
}

const std::vector<Scenario>& toys() {
  static const std::vector<Scenario> all = {
      {.name = "toys/claims", .sentence = {}, .rows = {}, .roles = {{"root", claim_something}}},
      {.name = "toys/crashes", .sentence = {}, .rows = {}, .roles = {{"root", crash}}},
      {.name = "toys/holds",
       .sentence = {},
       .rows = {},
       .roles = {{"root", make_and_hold}, {"client", hold}}},
      {.name = "toys/kills_at_birth",
       .sentence = {},
       .rows = {},
       .roles = {{"root", kill_at_birth}, {"client", hold}},
       .outside_matrix = "it is about one kill"},
      {.name = "toys/leaves", .sentence = {}, .rows = {}, .roles = {{"root", leave_a_file}}},
      {.name = "toys/leaves_of_the_sanitizer",
       .sentence = {},
       .rows = {},
       .roles = {{"root", leave_a_file_of_the_sanitizer}}},
      {.name = "toys/leaves_when_killed",
       .sentence = {},
       .rows = {},
       .roles = {{"root",
                  [](Stage& stage) -> Status {
                    LASTREF_CHECK(leave_a_file(stage));
                    stage.outside().unlink(stage.folder() + "/forgotten.bin");
                    return ok();
                  }}},
       .outside_matrix = "a kill leaves the file"},
      {.name = "toys/has_a_number",
       .sentence = {},
       .rows = {},
       .roles = {{"root",
                  [](Stage& stage) -> Status {
                    LASTREF_CHECK(report_number(stage));
                    return stage.start("client");
                  }},
                 {"client", report_number}},
       .parameters = {number}},
      {.name = "toys/takes_time",
       .sentence = {},
       .rows = {},
       .roles = {{"root", report_late}, {"client", await_the_limit}}},
      {.name = "toys/adds", .sentence = {}, .rows = {}, .roles = {{"root", add_in_two_steps}}},
      {.name = "toys/limits", .sentence = {}, .rows = {}, .roles = {{"root", limit}}},
      {.name = "toys/races", .sentence = {}, .rows = {}, .roles = {{"root", race}}}};
  return all;
}

class StressTest : public testing::Test {
 protected:
  static StressResults report(const std::string& scenario, std::uint64_t runs, bool noise = false) {
    StressCampaign campaign({.scenarios = &toys(),
                             .pattern = scenario,
                             .runs = runs,
                             .seed = 7,
                             .worlds = 1,
                             .noise = noise});
    if (!campaign.missing().empty()) {
      return {};
    }
    std::ostringstream progress;
    return campaign.run(progress);
  }
  void SetUp() override {
    const KernelWorld world({.scenarios = &toys(), .is_gated = false});
    if (!world.degraded().empty()) {
      GTEST_SKIP() << world.degraded();
    }
  }
};

std::vector<std::string> claims_of(const StressResults& report) {
  std::vector<std::string> claims;
  for (const StressViolation& each : report.violations) {
    claims.push_back(each.finding.claim);
  }
  return claims;
}

TEST_F(StressTest, finds_nothing_where_nothing_is_wrong_and_kills_some) {
  const StressResults found = report("toys/holds", 40);
  EXPECT_EQ(found.runs, 40U);
  EXPECT_EQ(found.scenarios, 1U);
  EXPECT_GT(found.runs_with_kills, 0U);
  EXPECT_GE(found.killed, found.runs_with_kills);
  EXPECT_THAT(claims_of(found), IsEmpty());
}

TEST_F(StressTest, finds_nothing_where_nothing_is_wrong_with_noise) {
  const StressResults found = report("toys/holds", 40, /*noise=*/true);
  EXPECT_GT(found.runs_with_kills, 0U);
  EXPECT_THAT(claims_of(found), IsEmpty());
}

TEST_F(StressTest, separates_two_steps_by_noise) {
  EXPECT_THAT(claims_of(report("toys/adds", 20, /*noise=*/true)), Contains("no addition is lost"));
}

TEST_F(StressTest, counts_nobody_who_was_killed_before_it_had_a_pid) {
  EXPECT_THAT(claims_of(report("toys/kills_at_birth", 20)), IsEmpty());
}

TEST_F(StressTest, finds_what_is_left) {
  const StressResults found = report("toys/leaves", 1);
  ASSERT_THAT(found.violations, SizeIs(1));
  EXPECT_THAT(found.violations[0].finding.claim, HasSubstr("no-leak"));
  EXPECT_THAT(found.violations[0].finding.seen, HasSubstr("forgotten.bin"));
}

TEST_F(StressTest, blames_nobody_for_what_the_sanitizer_leaves) {
  const StressResults found = report("toys/leaves_of_the_sanitizer", 1);
#if defined(__SANITIZE_THREAD__)
  EXPECT_THAT(claims_of(found), IsEmpty());
#else
  EXPECT_THAT(claims_of(found), Contains(HasSubstr("no-leak")));
#endif
}

TEST_F(StressTest, finds_who_crashes) {
  const StressResults found = report("toys/crashes", 1);
  EXPECT_THAT(claims_of(found), Contains(HasSubstr("no-crash")));
}

TEST_F(StressTest, finds_what_the_scenario_refutes) {
  const StressResults found = report("toys/claims", 1);
  ASSERT_THAT(found.violations, SizeIs(1));
  EXPECT_EQ(found.violations[0].finding.claim, "nothing is sent");
  EXPECT_EQ(found.violations[0].finding.seen.front(), 'a');
}

TEST_F(StressTest, draws_parameters_for_all_processes_and_reports_them) {
  const StressResults found = report("toys/has_a_number", 60);
  ASSERT_THAT(found.violations, testing::Not(IsEmpty()));
  EXPECT_THAT(found.violations, SizeIs(testing::Lt(2 * 60U)));
  EXPECT_THAT(claims_of(found), Contains("root has the usual number"));
  EXPECT_THAT(claims_of(found), Contains("client has the usual number"));
  EXPECT_EQ(to_text(found.violations.front().parameters), "number=2");
}

TEST_F(StressTest, draws_no_parameters_if_not_asked_to) {
  StressCampaign campaign({.scenarios = &toys(),
                           .pattern = "toys/*",
                           .runs = 16,
                           .worlds = 1,
                           .parameters = {{.name = "number", .value = "1"}},
                           .draws_parameters = false});
  EXPECT_THAT(campaign.scenarios(), SizeIs(1));
  std::ostringstream progress;
  EXPECT_THAT(campaign.run(progress).violations, IsEmpty());
}

TEST_F(StressTest, says_which_scenarios_need_gates_and_why) {
  const StressResults found = report("toys/limits", 3);
  EXPECT_EQ(found.runs, 0U);
  EXPECT_THAT(found.left_out, Contains(Pair("toys/limits", "it limits storage")));
}

TEST_F(StressTest, kills_nobody_outside_the_matrix_and_reports_why) {
  const StressResults found = report("toys/leaves_when_killed", 8);
  EXPECT_EQ(found.runs, 8U);
  EXPECT_EQ(found.killed, 0U);
  EXPECT_THAT(found.without_kills,
              Contains(Pair("toys/leaves_when_killed", "a kill leaves the file")));
}

TEST_F(StressTest, lets_nobody_down_while_a_process_waits_for_a_limit_of_time) {
  StressCampaign campaign({.scenarios = &toys(), .pattern = "toys/takes_time", .runs = 1});
  std::ostringstream progress;
  EXPECT_THAT(claims_of(campaign.run(progress)), IsEmpty());
}

TEST_F(StressTest, finds_races_where_a_sanitizer_looks_for_them) {
  const StressResults found = report("toys/races", 4);
#if defined(__SANITIZE_THREAD__)
  EXPECT_THAT(claims_of(found), Contains(HasSubstr("sanitizers")));
#else
  EXPECT_THAT(claims_of(found), IsEmpty());
#endif
}

TEST_F(StressTest, takes_no_scenario_that_nobody_named) {
  StressCampaign campaign({.scenarios = &toys(), .pattern = "none/*"});
  EXPECT_THAT(campaign.scenarios(), IsEmpty());
}

}  // namespace
}  // namespace lastref::harness

int main(int count, char** arguments) {
  const std::span<const char* const> all(arguments, static_cast<std::size_t>(count));
  if (all.size() > 1 && std::string_view(all[1]) == lastref::harness::born_argument) {
    return lastref::harness::become_process_of_run(
        all.subspan(2), lastref::harness::toys(), lastref::harness::product_entries());
  }
  testing::InitGoogleTest(&count, arguments);
  return RUN_ALL_TESTS();
}
