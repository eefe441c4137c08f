// responses_test: what a process may do about an error depends on the error and on its role.
#include "harness/scenario/responses.hpp"

#include <cerrno>
#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "harness/scenario/fault.hpp"

namespace lastref::harness {
namespace {

std::string text_of(Call call, int error) {
  return std::string(name_of(call)) + ' ' + strerrorname_np(error);
}

TEST(Responses, each_error_has_a_response_of_some_process) {
  for (const CallRow& row : call_rows()) {
    for (const ErrorRow& each : row.errors) {
      EXPECT_FALSE(each.in_tracker == Response::none && each.elsewhere == Response::none)
          << text_of(row.call, each.error);
    }
  }
}

TEST(Responses, a_tracker_is_one_in_every_incarnation) {
  EXPECT_EQ(response_to(Call::accept, EMFILE, "tracker"), Response::fail);
  EXPECT_EQ(response_to(Call::accept, EMFILE, "tracker#2"), Response::fail);
  EXPECT_EQ(response_to(Call::accept, EMFILE, "client"), Response::none);
}

TEST(Responses, what_no_row_names_has_none) {
  EXPECT_EQ(response_to(Call::accept, ENOSPC, "tracker"), Response::none);
  EXPECT_EQ(response_to(Call::now, EIO, "tracker"), Response::none);
}

TEST(Responses, an_errno_that_is_ignored_or_retried_is_benign_if_it_comes_once) {
  for (const CallRow& row : call_rows()) {
    for (const ErrorRow& each : row.errors) {
      const Site site{.role = "client", .name = std::string(row.method), .object = {}};
      const Fault once{.site = site, .kind = FaultKind::fail_once, .error = each.error};
      const bool unnoticed =
          each.elsewhere == Response::ignore || each.elsewhere == Response::retry;
      EXPECT_EQ(is_benign(once), unnoticed) << text_of(row.call, each.error);
      const Fault always{.site = site, .kind = FaultKind::fail_always, .error = each.error};
      EXPECT_FALSE(is_benign(always)) << text_of(row.call, each.error);
    }
  }
}

}  // namespace
}  // namespace lastref::harness
