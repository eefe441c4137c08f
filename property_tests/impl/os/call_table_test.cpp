// call_table_test: the tables of calls, steps and probes, and the text of errors.
#include <cctype>
#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <lastref/error.hpp>
#include <lastref/probe.hpp>

#include "harness/scenario/points.hpp"

namespace lastref {
namespace {

TEST(CallTable, every_row_is_found_by_its_call) {
  for (const CallRow& row : call_rows()) {
    EXPECT_EQ(&row_of(row.call), &row);
    EXPECT_EQ(name_of(row.call), row.method);
  }
  for (const StepRow& row : step_rows()) {
    EXPECT_EQ(&row_of(row.step), &row);
  }
  EXPECT_EQ(name_of(Call::none), "none");
}

TEST(CallTable, no_two_rows_share_a_method_or_a_point) {
  std::set<std::string_view> methods;
  std::set<std::string_view> points;
  for (const CallRow& row : call_rows()) {
    EXPECT_TRUE(methods.insert(row.method).second) << row.method;
    EXPECT_TRUE(points.insert(row.point).second) << row.point;
    EXPECT_TRUE(std::string_view(row.point).starts_with("os/")) << row.point;
  }
  for (const StepRow& row : step_rows()) {
    EXPECT_TRUE(methods.insert(row.name).second) << row.name;
    EXPECT_TRUE(points.insert(row.point).second) << row.point;
    EXPECT_TRUE(std::string_view(row.point).starts_with("step/")) << row.point;
  }
}

TEST(CallTable, errnos_of_a_row_are_errors_and_named_once) {
  for (const CallRow& row : call_rows()) {
    std::set<int> seen;
    for (const auto& [code, in_tracker, elsewhere] : row.errors) {
      EXPECT_GT(code, 0) << row.method;
      EXPECT_TRUE(seen.insert(code).second) << row.method << ' ' << code;
    }
  }
}

TEST(CallTable, a_row_has_its_traits_and_errors_in_the_order_of_the_table) {
  const CallRow& row = row_of(Call::read);
  EXPECT_STREQ(row.point, "os/fs/read");
  EXPECT_TRUE(has(row.traits, Traits::blocks));
  EXPECT_TRUE(has(row.traits, Traits::shortens));
  EXPECT_FALSE(has(row.traits, Traits::needed));
  ASSERT_EQ(row.errors.size(), 2U);
  EXPECT_EQ(static_cast<std::errc>(row.errors[0].error), std::errc::io_error);
  EXPECT_EQ(row.errors[0].in_tracker, Response::fail);
  EXPECT_EQ(row.errors[0].elsewhere, Response::fall_back);
  EXPECT_EQ(static_cast<std::errc>(row.errors[1].error), std::errc::interrupted);
  EXPECT_TRUE(row_of(Call::now).errors.empty());
}

TEST(Describe, says_what_was_tried_on_what_and_why_it_failed) {
  const Error error{
      .code = std::errc::permission_denied, .call = Call::unlink, .subject = "/tmp/a"};
  EXPECT_EQ(describe(error), "unlink /tmp/a: Permission denied");
}

TEST(Describe, leaves_out_what_is_not_there) {
  const Error no_call{.code = std::errc::invalid_argument, .call = Call::none, .subject = "name"};
  EXPECT_EQ(describe(no_call), "name: Invalid argument");
  const Error no_subject{
      .code = std::errc::too_many_files_open, .call = Call::make_pipe, .subject = {}};
  EXPECT_EQ(describe(no_subject), "make_pipe: Too many open files (RLIMIT_NOFILE)");
  const Error neither{.code = std::errc::io_error, .call = Call::none, .subject = {}};
  EXPECT_EQ(describe(neither), "Input/output error");
}

TEST(Describe, names_the_limit_that_was_reached_E10) {
  const auto says = [](std::errc code, Call call) {
    return describe(Error{.code = code, .call = call, .subject = {}});
  };
  EXPECT_EQ(says(std::errc::too_many_files_open_in_system, Call::open),
            "open: Too many open files in system (fs.file-max)");
  EXPECT_EQ(says(std::errc::file_too_large, Call::write_at),
            "write_at: File too large (RLIMIT_FSIZE, or the file system's)");
  EXPECT_EQ(says(std::errc::resource_unavailable_try_again, Call::spawn),
            "spawn: Resource temporarily unavailable (RLIMIT_NPROC, or pids.max)");
  EXPECT_EQ(says(std::errc::resource_unavailable_try_again, Call::lock_range),
            "lock_range: Resource temporarily unavailable");
  EXPECT_EQ(says(std::errc::not_enough_memory, Call::map),
            "map: Cannot allocate memory (RLIMIT_AS, or vm.max_map_count)");
  EXPECT_EQ(says(std::errc::not_enough_memory, Call::open), "open: Cannot allocate memory");
  const std::string filter =
      " (pidfd_open(2), which the system call filter of a container may refuse)";
  EXPECT_EQ(says(std::errc::operation_not_permitted, Call::open_process),
            "open_process: Operation not permitted" + filter);
  EXPECT_EQ(says(std::errc::function_not_supported, Call::open_process),
            "open_process: Function not implemented" + filter);
  EXPECT_EQ(says(std::errc::operation_not_permitted, Call::unlink),
            "unlink: Operation not permitted");
}

TEST(ProbeTable, has_each_probe_at_its_place_and_fits_into_a_set) {
  const auto rows = probe_rows();
  ASSERT_LE(rows.size(), harness::probes_max);
  for (std::size_t at = 0; at < rows.size(); ++at) {
    EXPECT_EQ(static_cast<std::size_t>(rows[at].probe), at) << rows[at].name;
  }
}

TEST(ProbeTable, no_two_rows_share_a_name_or_a_sentence) {
  std::set<std::string_view> names;
  std::set<std::string_view> sentences;
  for (const ProbeRow& row : probe_rows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_TRUE(sentences.insert(row.sentence).second) << row.sentence;
  }
}

TEST(ProbeTable, sentences_begin_small_and_have_no_full_stop) {
  for (const ProbeRow& row : probe_rows()) {
    ASSERT_FALSE(row.sentence.empty()) << row.name;
    EXPECT_EQ(std::isupper(static_cast<unsigned char>(row.sentence.front())), 0) << row.name;
    EXPECT_FALSE(row.sentence.ends_with('.')) << row.name;
  }
}

}  // namespace
}  // namespace lastref
