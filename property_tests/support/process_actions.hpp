// process_actions: what tests of backends do to processes, and tasks to the process they run in.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include <lastref/os.hpp>

namespace lastref::pretend {

/// Returns when the condition holds. A test that waits indefinitely is ended from outside.
template <typename Condition>
void until(Condition condition) {
  while (!condition()) {
    std::this_thread::yield();
  }
}

/// Copies the calling process; 0 in the copy.
os::Pid fork_here();
/// Copies the calling process. The copy runs the body and exits with its result, or with 2 if it
/// throws. The copy is killed when the calling thread ends: a killed test leaves no process.
os::Pid run_in_copy(const std::function<int()>& body);
/// Gives the calling process the lowest priority from now on.
void give_way();
/// Copies the calling process into a new pid namespace, where the copy is process 1, and waits for
/// it. Returns the result of the body, 2 if it throws, or nothing if that is not allowed here.
std::optional<int> run_as_first_process(const std::function<int()>& body);
/// Starts a grandchild in a new session, which inherits all descriptors and exits when there is
/// such a file.
void daemonise_until(const std::string& path);
/// Never returns.
[[noreturn]] void hang();
/// Replaces the calling process with another program, which does nothing and never ends.
void execute_endless_program();
/// Like exit(3).
[[noreturn]] void leave(int code);
void close_here(int fd);
void send_signal(os::Pid pid, int number);
/// Returns when the process has stopped.
void wait_until_stopped(os::Pid process);
/// Returns when the process is dead.
void wait_until_dead(os::Pid process);
/// Waits for a child of this process and reaps it; -1 if it was killed.
int exit_code_of(os::Pid child);
/// Whether this process has a child to reap, dead or alive.
bool has_children();
/// Reaps any child of this process, until `over` is set.
void reap_until(const std::atomic<bool>& over);

/// By the C library, or by the system call that a runtime of another language would make.
enum class Fork : std::uint8_t { plain, raw };
/// The number that a copy of this process, made in that way, returns; 0 if it returns none.
std::uint64_t number_from_copy(Fork fork, const std::function<std::uint64_t()>& body);

/// An empty value removes the variable.
void set_variable(const std::string& name, const std::string& value);
/// Open to all, as far as the process's umask allows.
bool make_fifo(const std::string& path);

/// Makes SIGPIPE pending for the calling thread, as if a pipe had broken.
void hold_back_a_broken_pipe();
/// Takes the pending SIGPIPE. Whether it was pending exactly once; a second one would kill the
/// thread.
bool take_broken_pipe();

/// For a scope, makes standard error a full pipe. Its other end is read only by `drain`, so a
/// process that writes to it waits.
class FullStandardError {
 public:
  FullStandardError();
  FullStandardError(const FullStandardError&) = delete;
  FullStandardError& operator=(const FullStandardError&) = delete;
  ~FullStandardError();

  /// Returns the contents and empties the pipe.
  std::string drain() const;

 private:
  int usual_;
  int read_ = -1;
};

/// The output of a shell that a copy of this process executes, with everything that it lets be
/// inherited.
std::string said_by_shell(const std::string& script);

/// Runs a program as another user with a single variable, PATH. Returns its exit code.
int run_as(unsigned user,
           const std::string& program,
           const std::string& argument,
           const std::string& path);

/// Limits the number of descriptors of the calling process, for a scope.
class FewDescriptors {
 public:
  explicit FewDescriptors(std::uint64_t most);
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;
  ~FewDescriptors();

 private:
  std::uint64_t usual_;
};

/// Limits the calling process to that many more mapped bytes. RLIMIT_AS
void allow_addresses(std::uint64_t bytes);
/// Maps memory until the calling process has as many maps as it may.
void fill_maps();

}  // namespace lastref::pretend
