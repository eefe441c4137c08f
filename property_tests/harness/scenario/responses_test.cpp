// responses_test: the table of responses has a row for each errno of the table of calls.
#include "harness/scenario/responses.hpp"

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "harness/scenario/fault.hpp"

namespace lastref::harness {
namespace {

std::string text_of(Call call, int error) {
  return std::string(name_of(call)) + ' ' + strerrorname_np(error);
}

TEST(Responses, each_errno_of_each_call_has_one_row_in_the_order_of_the_calls) {
  std::vector<std::string> errnos;
  for (const CallRow& row : call_rows()) {
    for (const int error : row.errnos) {
      errnos.push_back(text_of(row.call, error));
    }
  }
  std::vector<std::string> responses;
  for (const ResponseRow& row : response_rows()) {
    responses.push_back(text_of(row.call, row.error));
  }
  EXPECT_EQ(responses, errnos);
}

TEST(Responses, a_row_says_something_of_somebody) {
  for (const ResponseRow& row : response_rows()) {
    EXPECT_FALSE(row.in_tracker == Response::none && row.elsewhere == Response::none)
        << text_of(row.call, row.error);
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
  for (const ResponseRow& row : response_rows()) {
    Fault once;
    once.kind = FaultKind::fail_once;
    once.error = row.error;
    once.site.role = "client";
    once.site.name = name_of(row.call);
    const bool unnoticed = row.elsewhere == Response::ignore || row.elsewhere == Response::retry;
    EXPECT_EQ(is_benign(once), unnoticed) << text_of(row.call, row.error);
    Fault always = once;
    always.kind = FaultKind::fail_always;
    EXPECT_FALSE(is_benign(always)) << text_of(row.call, row.error);
  }
}

}  // namespace
}  // namespace lastref::harness
