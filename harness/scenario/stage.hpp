// Stage: what the role of a process sees of the harness. One object a process.
//
// It has what the process is, and what roles say and do to each other. What is done to the system
// around the product has interfaces of its own (Outside, Limits), and so has the product.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include <lastref/os.hpp>

#include "harness/scenario/limits.hpp"
#include "harness/scenario/outside.hpp"
#include "harness/scenario/product.hpp"

namespace lastref::harness {

/// What a process is, as long as it lives.
struct Setting {
  /// The instrumented Os of this process.
  os::Os& os;
  std::string role;
  /// With what this process was started: those of Os::spawn, or the tree alone, which may be empty.
  std::span<const std::string> arguments;
  /// An absolute, private, empty folder for the run's files.
  std::string folder;
  /// $TMPDIR of the run: empty at first, and a file system of its own.
  std::string spare_folder;
};

class Stage {
 public:
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  virtual ~Stage() = default;

  os::Os& os() noexcept { return setting_.os; }
  const std::string& role() const noexcept { return setting_.role; }
  std::span<const std::string> arguments() const noexcept { return setting_.arguments; }
  const std::string& folder() const noexcept { return setting_.folder; }
  const std::string& spare_folder() const noexcept { return setting_.spare_folder; }

  Product& product() noexcept { return product_; }
  virtual Outside& outside() noexcept = 0;
  virtual Limits& limits() noexcept = 0;

  /// Starts another role of the same scenario as a child process. It gets the tree of this process,
  /// if there is one, for Product::join.
  [[nodiscard]] virtual Status start(const std::string& role) = 0;

  // Signals between roles. Part of the harness: they cost no system call and cannot fail. One that
  // was given stays given, until the end of the run.

  virtual void tell(const std::string& signal) = 0;
  /// Waits for a signal. False when nobody is left who could give it (everything else is dead or
  /// waits): a role may go on, for whatever that means to it.
  virtual bool await(const std::string& signal) = 0;
  /// Gives a signal that carries bytes: up to 2000 of any value, and 16 such signals a run. Who
  /// sends the same signal again replaces the bytes.
  virtual void send(const std::string& signal, const std::string& bytes) = 0;
  /// Waits for a signal like `await`. Its bytes, which stay for others, and are none if it was only
  /// told.
  ///
  /// Errors          no_message_available: nobody is left who could give it.
  [[nodiscard]] virtual Result<std::string> receive(const std::string& signal) = 0;
  /// Waits until nobody else can go on: everything else is dead or waits.
  void wait_for_quiet();
  /// For a role that somebody kills. It returns, as `wait_for_quiet` does, if nobody is left who
  /// could.
  void stay_until_killed() { wait_for_quiet(); }

  /// Relative paths of this process start in `folder` from now on (chdir), which is absolute and
  /// has no symlinks in it. Other processes, those that it has started too, stay where they are.
  virtual void work_in(const std::string& folder) = 0;
  /// Whether the calling thread hears the signals that the role's own thread does. In the sim,
  /// where threads have no masks, each does.
  virtual bool hears_signals() const noexcept = 0;

  // What a role does to others.

  /// Holds all other processes in `role` still (SIGSTOP), and lets them go on.
  virtual void stop(const std::string& role) = 0;
  /// False if nobody in `role` was held still any more: when all others wait for them, the world
  /// lets them go on by itself.
  virtual bool resume(const std::string& role) = 0;
  /// SIGKILLs every process in `role`, and returns when they are dead.
  virtual void kill(const std::string& role) = 0;
  /// SIGINTs every process of the run, this one and the tracker among them, as a terminal does at
  /// Ctrl-C. Returns, if this one lives, when all have died who neither ignore nor block it; that
  /// is no crash. Who is stopped dies when it is resumed.
  virtual void interrupt_all() = 0;
  /// How many processes in `role` are alive.
  virtual std::size_t processes(const std::string& role) = 0;
  /// Only in the kernel world: forks this process without the product's knowledge. The copy keeps
  /// all descriptors, runs `body` as a role does, and dies. False where there is no real fork.
  virtual bool fork_stranger(std::function<Status()> body) = 0;

  // What this process has, which may not grow with what it has done.

  /// bytes of the heap that are not the harness's own. Nothing where nobody can tell: where all
  /// processes of a run share one heap, or a sanitizer has its own.
  virtual std::optional<std::uint64_t> heap_in_use() = 0;
  /// bytes of address space that its Os has mapped
  virtual std::uint64_t mapped() = 0;

  /// Whether nothing of what is planned has struck so far: then all goes as the scenario says.
  virtual bool is_undisturbed() const noexcept = 0;
  /// A finding of the scenario's own: `claim` does not hold because `seen`.
  virtual void refute(const std::string& claim, const std::string& seen) = 0;

 protected:
  /// What a role that is started is to join: the tree of this process, or none.
  Result<std::string> tree_to_join();
  /// What `receive` says then.
  static tl::unexpected<Error> nobody_left(const std::string& signal) {
    return failure(std::errc::no_message_available, signal);
  }

  Stage(Setting setting, OperationLog& log) noexcept
      : setting_(std::move(setting)), product_(*this, log) {}

 private:
  Setting setting_;
  Product product_;
};

}  // namespace lastref::harness
