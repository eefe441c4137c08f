// os_contract: the helpers with which the contract of os::Os is tested, on every implementation.
//
// A Fixture is one kind of Os together with the means to run processes on it. All suites named
// ...Contract are parameterised over `fixtures()`, so a new Os must be added to that list. A test
// is a process on its fixture, with a folder of its own that must be empty again when the test
// ends, and no descriptor may be left. Child processes run one of `entries()`.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <lastref/os.hpp>
#include <lastref/owners.hpp>

namespace lastref::os {

// How a failed test prints the observed value.
void PrintTo(Fd fd, std::ostream* out);
void PrintTo(const ChildExit& exit, std::ostream* out);
void PrintTo(const Peer& peer, std::ostream* out);
void PrintTo(const LockHolder& holder, std::ostream* out);
void PrintTo(const FileStatus& status, std::ostream* out);

}  // namespace lastref::os

namespace lastref::contract {

/// Longer than anything here takes; only a failing test waits that long.
inline constexpr std::chrono::seconds patience{20};

/// A descriptor that is open nowhere.
inline constexpr os::Fd never_opened{9999};
inline constexpr auto would_block = std::errc::resource_unavailable_try_again;

/// A program that tests start as a child process. Its descriptors are described where it is
/// defined, in contract_entries.cpp.
struct Entry {
  std::string_view name;
  int (*run)(os::Os& os, std::span<const std::string> arguments);
};
std::span<const Entry> entries() noexcept;

class Fixture {
 public:
  Fixture() = default;
  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;
  virtual ~Fixture() = default;

  /// Runs `body` as a process that can start any of `entries()` as a child; returns when it is
  /// over.
  virtual void run(const std::function<void(os::Os&)>& body) = 0;
  /// An existing folder in which new ones can be made.
  virtual std::string base() const = 0;
  /// Functions that no Os has.
  virtual void plant_symlink(const std::string& path, const std::string& target) = 0;
};

struct FixtureRow {
  const char* name;
  std::unique_ptr<Fixture> (*make)();
};
void PrintTo(const FixtureRow& row, std::ostream* out);
const std::vector<FixtureRow>& fixtures();
/// The real kernel, for tests that only it can pass.
FixtureRow kernel_fixture();
FixtureRow sim_fixture();

/// Whether `result` is an error of this row with this code; the message describes it if not.
testing::AssertionResult fails(const Status& result, Call call, std::errc code);
template <typename T>
testing::AssertionResult fails(const Result<T>& result, Call call, std::errc code) {
  return fails(status_of(result), call, code);
}

/// Whether `result` is no error.
testing::AssertionResult worked(const Status& result);
template <typename T>
testing::AssertionResult worked(const Result<T>& result) {
  return worked(status_of(result));
}

/// The value; if there is none, a failed test and a default value.
template <typename T>
T value_of(Result<T> result) {
  EXPECT_TRUE(worked(result));
  return result ? std::move(*result) : T{};
}

struct Pipe {
  os::UniqueFd read;
  os::UniqueFd write;
};

/// Two ends of a connection.
struct Pair {
  os::UniqueFd left;   ///< connected
  os::UniqueFd right;  ///< accepted
};

/// A child process. Killed and reaped with its owner, unless its end was seen.
class Running {
 public:
  Running(os::Os& os, const os::SpawnOptions& options);
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running();

  os::Pid pid() const noexcept { return pid_; }
  os::Fd process() const noexcept { return process_.get(); }
  /// Waits for its end and reaps it.
  os::ChildExit end();
  os::ChildExit kill();

 private:
  os::Os& os_;
  os::Pid pid_ = 0;
  os::UniqueFd process_;
  bool ended_ = false;
};

/// The surroundings of one test.
class Scene {
 public:
  Scene(os::Os& os, Fixture& fixture);
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;
  ~Scene();

  os::Os& os() noexcept { return os_; }
  Fixture& fixture() noexcept { return fixture_; }
  const std::string& folder() const noexcept { return folder_; }
  /// In the folder of this test.
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  /// Unique: for shared memory and semaphores. Starts with a slash.
  std::string unique_name() const { return "/lastref_" + tag_; }

  os::UniqueFd open(const os::PathAt& where, const os::OpenOptions& options = {});
  /// A new file in the folder, open for writing.
  os::UniqueFd create(const std::string& name, std::string_view text = {});
  std::string text_of(const std::string& name);
  void remove(const std::string& name);
  Pipe pipe();
  os::UniqueFd listener(const std::string& name);
  Pair pair();
  bool exists(const std::string& name);

 private:
  std::size_t open_fds();

  os::Os& os_;
  Fixture& fixture_;
  std::string tag_;
  std::string folder_;
  std::size_t fds_before_;
};

class OsContract : public testing::TestWithParam<FixtureRow> {
 protected:
  /// The test itself.
  static void act(const std::function<void(Scene&)>& body);
};

/// Random lower-case hexadecimal text.
std::string random_text(os::Os& os);

/// Whether the descriptor became readable, or its other end was closed, in time.
bool wait_for(os::Os& os, os::Fd fd);
/// What can be read after waiting for it.
std::string read_some(os::Os& os, os::Fd fd);
/// The next message after waiting for it; it carries no descriptors.
std::string next_message(os::Os& os, os::Fd socket);
Status send_text(os::Os& os, os::Fd socket, std::string_view text);
/// The state of the descriptor right now.
os::PollItem look_at(os::Os& os, os::Fd fd);

}  // namespace lastref::contract

/// Every suite runs on every fixture.
#define LASTREF_ON_EVERY_FIXTURE(suite)                                         \
  INSTANTIATE_TEST_SUITE_P(                                                     \
      On, suite, testing::ValuesIn(contract::fixtures()), [](const auto& row) { \
        return std::string(row.param.name);                                     \
      })
