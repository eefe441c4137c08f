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

/// Returns when it is so. A test that waits for ever is ended from outside.
template <typename Condition>
void until(Condition condition) {
  while (!condition()) {
    std::this_thread::yield();
  }
}

/// Copies the calling process; 0 in the copy.
os::Pid fork_here();
/// Copies the calling process. The copy runs the body and leaves with what it gives, or with 2 if
/// that throws. It is killed when the calling thread ends: a killed test leaves nobody behind.
os::Pid run_in_copy(const std::function<int()>& body);
/// The calling process lets all others run first, from now on.
void give_way();
/// Copies the calling process into a new namespace of processes, where the copy is number 1, and
/// waits for it: what the body gives, 2 if it throws; nothing if that is not allowed here.
std::optional<int> run_as_first_process(const std::function<int()>& body);
/// A grandchild of its own session, which has all descriptors, lives until there is such a file.
void daemonise_until(const std::string& path);
/// Never.
[[noreturn]] void hang();
/// The calling process is another program from now on, which does nothing and never ends.
void execute_endless_program();
/// As exit(3).
[[noreturn]] void leave(int code);
void close_here(int fd);
void send_signal(os::Pid pid, int number);
/// Returns when it has stopped.
void wait_until_stopped(os::Pid process);
/// Returns when it is dead.
void wait_until_dead(os::Pid process);
/// Waits for a child of ours and reaps it; -1 if it was killed.
int exit_code_of(os::Pid child);
/// Whether there is a child, dead or alive, that is ours to reap.
bool has_children();
/// Reaps whatever child there is, until it is over.
void reap_until(const std::atomic<bool>& over);

/// By the C library, or by the system call that a runtime of another language would make.
enum class Fork : std::uint8_t { plain, raw };
/// What a copy of this process, made in that way, says; 0 if it says nothing.
std::uint64_t number_from_copy(Fork fork, const std::function<std::uint64_t()>& body);

/// An empty value takes the variable away.
void set_variable(const std::string& name, const std::string& value);
/// Open to all, as far as the process's mask allows.
bool make_fifo(const std::string& path);

/// SIGPIPE waits for the calling thread from now on, as if a pipe had broken.
void hold_back_a_broken_pipe();
/// Takes it. Whether it was there, and one time only; the thread would die of another one.
bool take_broken_pipe();

/// Standard error is a full pipe, whose other end nobody reads unless `drain` is called, for a
/// scope. Whoever writes to it waits.
class FullStandardError {
 public:
  FullStandardError();
  FullStandardError(const FullStandardError&) = delete;
  FullStandardError& operator=(const FullStandardError&) = delete;
  ~FullStandardError();

  /// What is in it; it is empty then.
  std::string drain() const;

 private:
  int usual_;
  int read_ = -1;
};

/// What a shell says that is executed by a copy of this process, with all that it lets be
/// inherited.
std::string said_by_shell(const std::string& script);

/// Runs a program as another user with a single variable, PATH. Its exit code.
int run_as(unsigned user,
           const std::string& program,
           const std::string& argument,
           const std::string& path);

/// The calling process may have so many descriptors, for a scope.
class FewDescriptors {
 public:
  explicit FewDescriptors(std::uint64_t most);
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;
  ~FewDescriptors();

 private:
  std::uint64_t usual_;
};

/// The calling process may map so many bytes more. RLIMIT_AS
void allow_addresses(std::uint64_t bytes);
/// The calling process has as many maps as it may.
void fill_maps();

}  // namespace lastref::pretend
