// program_test: other programs, and what happens to them when this process is killed.
#include "harness/program/program.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "harness/platform/child_process.hpp"

namespace lastref::harness {
namespace {

class Programs : public testing::Test {
 protected:
  Programs() { std::filesystem::create_directories(folder_); }
  ~Programs() override { std::filesystem::remove_all(folder_); }

  std::string log() const { return folder_ + "/log"; }
  std::string logged() const {
    std::ifstream stream(log());
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  std::string folder_ = testing::TempDir() + fmt::format("program_test.{}", ::getpid());
};

/// The value of a Result, or its error as text.
std::string text_of(const Result<std::optional<int>>& result) {
  if (!result) {
    return describe(result.error());
  }
  return *result ? fmt::format("exit {}", **result) : "killed";
}

TEST_F(Programs, tell_how_they_ended) {
  EXPECT_EQ(text_of(run_program("true", {})), "exit 0");
  EXPECT_EQ(text_of(run_program("/bin/sh", {"-c", "exit $#", "sh", "1", "2"})), "exit 2");
  EXPECT_EQ(text_of(run_program("/bin/sh", {"-c", "kill -9 $$"})), "killed");
  const auto missing = run_program("/no/such/program", {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, std::errc::no_such_file_or_directory);
}

TEST_F(Programs, of_a_command_say_all_into_its_log) {
  EXPECT_EQ(text_of(run_command(folder_, "pwd; echo \"it's\" >&2; exit 3", log(), 60)), "exit 3");
  EXPECT_EQ(logged(), std::filesystem::canonical(folder_).string() + "\nit's\n");
  EXPECT_EQ(text_of(run_command(folder_, "read nothing", log(), 60)), "exit 1");
  EXPECT_EQ(logged(), "") << "the log was overwritten";
}

TEST_F(Programs, that_take_too_long_are_killed) {
  EXPECT_EQ(text_of(run_command(folder_, "tail -f /dev/null", log(), 1)), "exit 124");
}

TEST_F(Programs, of_a_command_are_watched_while_they_run) {
  const std::string go = folder_ + "/go";
  int looks = 0;
  const auto look = [&] {
    ++looks;
    std::ofstream(go).flush();
  };
  const std::string command = "until test -e go; do :; done; exit 7";
  EXPECT_EQ(text_of(run_command(folder_, command, log(), 600, look)), "exit 7");
  EXPECT_GE(looks, 1);
}

/// Reads until no process can write any more.
std::string read_to_end(int fd) {
  std::string all;
  std::array<char, 64> bytes{};
  for (;;) {
    const ssize_t size = ::read(fd, bytes.data(), bytes.size());
    if (size > 0) {
      all.append(bytes.data(), static_cast<std::size_t>(size));
    } else if (size == 0 || errno != EINTR) {
      return all;
    }
  }
}

TEST_F(Programs, do_not_outlive_who_waits_for_them) {
  if (text_of(run_program("sh", {"-c", "command -v setpriv >/dev/null"})) != "exit 0") {
    GTEST_SKIP() << "there is no setpriv";
  }
  auto [reader, writer] = make_pipe();
  const int waiting = start_child([this, held = writer.get()] {
    ::fcntl(held, F_SETFD, 0);  // The command holds the pipe while it runs.
    // Without a fork, during which dash(1) blocks the signal that ends the command.
    const std::string command = fmt::format("echo lives >&{}; exec tail -f /dev/null", held);
    static_cast<void>(run_command("/", command, log(), 600));
    return 0;
  });
  writer.reset();
  std::array<char, 6> said{};
  ASSERT_EQ(::read(reader.get(), said.data(), said.size()), 6);
  ::kill(waiting, SIGKILL);
  EXPECT_EQ(read_to_end(reader.get()), "") << "else this line is never reached";
  EXPECT_TRUE(reap(waiting));
}

}  // namespace
}  // namespace lastref::harness
