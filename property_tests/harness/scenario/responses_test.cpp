// responses_test: what a process may do about an error depends on the error and on its role.
#include "harness/scenario/responses.hpp"

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "harness/scenario/fault.hpp"
#include "harness/warden/likely_errors.hpp"

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

TEST(Responses, the_errors_of_a_call_are_among_those_that_the_kernel_may_return) {
  // The system calls that KernelOs makes, as far as `lastref run` knows them. The EIO of entropy is
  // no error of the kernel, but a short count.
  struct Row {
    Call call;
    std::string_view syscall;
  };
  const Row rows[] = {
      {Call::open, "openat"},
      {Call::read, "read"},
      {Call::read_at, "pread64"},
      {Call::write, "write"},
      {Call::write_at, "pwrite64"},
      {Call::sync, "fdatasync"},
      {Call::allocate, "fallocate"},
      {Call::punch_hole, "fallocate"},
      {Call::status, "statx"},
      {Call::status_at, "statx"},
      {Call::unlink, "unlinkat"},
      {Call::rename, "renameat"},
      {Call::rename_new, "renameat2"},
      {Call::link, "linkat"},
      {Call::change_mode, "fchmodat"},
      {Call::make_folder, "mkdirat"},
      {Call::remove_folder, "unlinkat"},
      {Call::read_folder, "getdents64"},
      {Call::map, "mmap"},
      {Call::create_shm, "openat"},
      {Call::unlink_shm, "unlink"},
      {Call::create_semaphore, "openat"},
      {Call::unlink_semaphore, "unlink"},
      {Call::lock_range, "fcntl"},
      {Call::find_lock, "fcntl"},
      {Call::lock_folder, "flock"},
      {Call::make_socket, "socket"},
      {Call::bind, "bind"},
      {Call::listen, "listen"},
      {Call::accept, "accept4"},
      {Call::connect, "connect"},
      {Call::send, "sendmsg"},
      {Call::receive, "recvmsg"},
      {Call::make_pipe, "pipe2"},
      {Call::spawn, "clone3"},
  };
  for (const auto& [call, syscall] : rows) {
    for (const ErrorRow& each : row_of(call).errors) {
      EXPECT_TRUE(warden::is_likely(syscall, each.error)) << text_of(call, each.error);
    }
  }
}

}  // namespace
}  // namespace lastref::harness
