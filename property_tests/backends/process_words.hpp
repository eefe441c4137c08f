// process_words: what tests of backends do to processes, and tasks to the process they run in.
#pragma once

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

}  // namespace lastref::pretend
