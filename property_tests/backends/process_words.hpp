// process_words: what tests of backends do to processes, and tasks to the process they run in.
#pragma once

#include <cstdint>
#include <functional>
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
/// A grandchild of its own session, which has all descriptors, lives until there is such a file.
void daemonise_until(const std::string& path);
/// Never.
[[noreturn]] void hang();
/// As exit(3).
[[noreturn]] void leave(int code);
void close_here(int fd);
void send_signal(os::Pid pid, int number);
/// Returns when a child of ours has stopped.
void wait_until_stopped(os::Pid child);
/// Returns when a child of ours is dead; it is left to be reaped.
void wait_until_dead(os::Pid child);
/// Whether there is a child, dead or alive, that is ours to reap.
bool has_children();
/// An empty value takes the variable away.
void set_variable(const std::string& name, const std::string& value);
/// Open to all, as far as the process's mask allows.
bool make_fifo(const std::string& path);

/// SIGPIPE waits for the calling thread from now on, as if a pipe had broken.
void hold_back_a_broken_pipe();
/// Takes it. Whether it was there, and one time only; the thread would die of another one.
bool take_broken_pipe();

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

}  // namespace lastref::pretend
