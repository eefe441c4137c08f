// Workers: processes that run the tasks of a parent.
//
// How they start. A worker is a program that is executed anew, never a fork: whoever wants workers
// may be big and have threads, and a fork of such a process copies page tables for milliseconds and
// leaves every lock that another thread holds locked for ever. Os::spawn starts the program by
// vfork and exec, at a cost that does not depend on its caller (KernelOs says more). So a worker
// starts small, with nothing of its parent's but three descriptors, and there is no server to fork
// it, which would be one more process to die. What this costs is one exec for each worker, once.
//
// A worker is a program that has the same functions: most simply the very same, which looks first
// whether it was started to be one:
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
// What a newcomer would get wrong:
// - A worker ignores SIGINT: at a Ctrl-C, which goes to the whole group, its parent decides. What a
//   task executes inherits that.
// - A worker never outlives its parent, whatever it is doing and whoever else has its pipes: a
//   thread of it waits for the parent's death, and kills it. It does the same when the parent
//   executes another program, unless a process that the parent has forked has its pipes.
// - The Os is never destroyed: arrays that a task has kept in something static use it to their end,
//   and so do threads of the worker when a task calls exit.
// - A copy of the worker that a task forks and lets return is killed as soon as it does.
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

/// Descriptors that a worker is given.
inline constexpr int jobs_fd = 3;     ///< a pipe that it reads
inline constexpr int results_fd = 4;  ///< a pipe that it writes
inline constexpr int parent_fd = 5;   ///< the process of its parent
inline constexpr int leash_fd = 6;    ///< a pipe whose other end its parent alone has open

/// In its environment until it begins to serve.
inline constexpr const char* marker = spawned_marker;

}  // namespace worker

/// For KernelOptions::program: the program that is running.
inline constexpr const char* this_program = "/proc/self/exe";

/// A worker's life, until its parent closes the pipe. It takes its descriptors, joins its tree, and
/// runs what it is sent. Its exit code: 0, or 2 when it could not start or go on, with the reason
/// on standard error.
int serve_worker(os::Os& os,
                 const std::function<Result<Session>()>& join,
                 const Functions& functions) noexcept;

/// If this process was started to be a worker, or the tracker, is one, and gives its exit code.
/// `arguments` are those of main, the program's name first.
std::optional<int> run_if_spawned(os::Os& os,
                                  const Functions& functions,
                                  std::span<const std::string> arguments) noexcept;

}  // namespace lastref
