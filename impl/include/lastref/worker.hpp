// Workers: processes that run the tasks of a parent.
//
// How they start: a worker is a newly executed program, never a fork. The parent may be large and
// have threads. A fork of such a process copies page tables for milliseconds, and leaves every lock
// that another thread holds locked permanently. Os::spawn starts the program by vfork and exec, at
// a cost that does not depend on the caller (see KernelOs). So a worker starts small and inherits
// only four descriptors from its parent. There is no fork server, which would be one more process
// that can die. The cost is one exec per worker.
//
// A worker is a program that has the same functions. The simplest is the parent's own program,
// which first checks whether it was started as a worker:
//
//   int main(int argc, char** argv) {
//     auto& os = lastref::os::KernelOs::of_process({.program = lastref::this_program});
//     lastref::Functions functions;
//     ...
//     const std::vector<std::string> arguments(argv, argv + argc);
//     if (const auto code = lastref::run_if_spawned(os, functions, arguments)) {
//       return *code;
//     }
//     ...
//   }
//
// Pitfalls:
// - A worker ignores SIGINT: Ctrl-C goes to the whole process group, and the parent decides. A
//   program that a task executes inherits that.
// - A worker never outlives its parent, whatever it is doing and whichever other process has its
//   pipes: one of its threads waits for the parent's death and then kills the worker. The thread
//   does the same when the parent executes another program, unless a process that the parent has
//   forked has the worker's pipes.
// - The Os is never destroyed: arrays that a task has kept in static variables use it until they
//   are destroyed, and so do the worker's threads when a task calls exit.
// - If a task forks the worker and the copy returns from the task, the copy is killed at once.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include <lastref/os.hpp>
#include <lastref/spawned.hpp>
#include <lastref/task.hpp>

namespace lastref {

namespace worker {

/// Name of the entry that Os::spawn starts. Its arguments are the folder of the tree and the
/// worker's number among its siblings, from 1.
inline constexpr const char* entry_point = "worker";

/// Descriptors that a worker inherits.
inline constexpr int jobs_fd = 3;     ///< a pipe that it reads
inline constexpr int results_fd = 4;  ///< a pipe that it writes
inline constexpr int parent_fd = 5;   ///< a process descriptor of its parent
inline constexpr int leash_fd = 6;    ///< a pipe; only the parent has the other end open

/// Set in its environment until it begins to serve.
inline constexpr const char* marker = spawned_marker;

}  // namespace worker

/// For KernelOptions::program: the program that is running.
inline constexpr const char* this_program = "/proc/self/exe";

/// Runs a worker until its parent closes the pipe: it takes its descriptors, joins its tree, and
/// runs the tasks that it receives. Returns its exit code: 0, or 2 if it could not start or
/// continue, with the reason on standard error.
int serve_worker(os::Os& os,
                 const std::function<Result<Session>()>& join,
                 const Functions& functions) noexcept;

/// If this process was started as a worker or as the tracker, runs it and returns its exit code;
/// otherwise returns none. `arguments` are those of main, with the program's name first.
std::optional<int> run_if_spawned(os::Os& os,
                                  const Functions& functions,
                                  std::span<const std::string> arguments) noexcept;

}  // namespace lastref
