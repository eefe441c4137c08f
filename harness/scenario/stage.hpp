// Stage: the harness as the role of a process sees it. One object per process.
//
// It has the properties of the process, and the communication between roles. Changes to the system
// around the product have interfaces of their own (Outside, Limits), and so has the product.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <lastref/os.hpp>

#include "harness/scenario/limits.hpp"
#include "harness/scenario/outside.hpp"
#include "harness/scenario/parameter.hpp"
#include "harness/scenario/product.hpp"

namespace lastref::harness {

struct Scenario;

/// Properties of a process that do not change while it lives.
struct Setting {
  const Scenario& scenario;
  /// Of the run; parameters of the scenario that are not in it have their usual values.
  std::span<const ParameterValue> parameters;
  /// The instrumented Os of this process.
  os::Os& os;
  std::string role;
  /// The arguments of Os::spawn that started this process, or the tree alone, which may be empty.
  std::span<const std::string> arguments;
  /// An absolute, private, empty folder for the run's files.
  std::string folder;
  /// $TMPDIR of the run: empty at first, and on a file system of its own.
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

  /// The value of a parameter of the scenario, the same in every process of the run.
  template <typename T>
  T value(const Parameter<T>& parameter) const {
    return static_cast<T>(number_of(parameter.name));
  }
  std::string_view value(const TextParameter& parameter) const {
    return value_of(declared(parameter.name));
  }

  /// Whether any limit of the library differs from the usual one.
  bool has_small_limits() const;

  Product& product() noexcept { return product_; }
  virtual Outside& outside() noexcept = 0;
  virtual Limits& limits() noexcept = 0;

  /// Starts another role of the same scenario as a child process. It gets the tree of this process,
  /// if there is one, for Product::join.
  [[nodiscard]] virtual Status start(const std::string& role) = 0;

  // Signals between roles. They are part of the harness: they cost no system call and cannot fail.
  // A signal once given remains given until the end of the run.

  virtual void tell(const std::string& signal) = 0;
  /// Waits for a signal. False when no process is left that could give it (every other one is dead
  /// or waits): the role may then continue as it sees fit.
  virtual bool await(const std::string& signal) = 0;
  /// Gives a signal that carries bytes: up to 2000 of any value, and 16 such signals per run.
  /// Sending the same signal again replaces the bytes.
  virtual void send(const std::string& signal, const std::string& bytes) = 0;
  /// Waits for a signal like `await`, and returns its bytes. They remain for other receivers, and
  /// are empty if the signal was sent by `tell`.
  ///
  /// Errors          no_message_available: no remaining process could send it.
  [[nodiscard]] virtual Result<std::string> receive(const std::string& signal) = 0;
  /// Waits until no other process can continue: every other one is dead or waits.
  void wait_for_quiet();
  /// For a role that is to be killed. It returns, as `wait_for_quiet` does, if no process is left
  /// that could kill it.
  void stay_until_killed() { wait_for_quiet(); }

  /// Relative paths of this process start in `folder` from now on (chdir); it is absolute and
  /// contains no symlinks. Other processes, including those it has started, keep their folder.
  virtual void work_in(const std::string& folder) = 0;
  /// Whether the calling thread receives the signals that the role's own thread receives. In the
  /// sim, where threads have no signal masks, each does.
  virtual bool hears_signals() const noexcept = 0;

  // Effects on other roles.

  /// Stops all other processes in `role` (SIGSTOP) until `resume`, or the death of this process.
  virtual void stop(const std::string& role) = 0;
  /// False if no process in `role` was stopped any more: when all others wait for them, the world
  /// resumes them by itself.
  virtual bool resume(const std::string& role) = 0;
  /// SIGKILLs every process in `role`, and returns when they are dead.
  virtual void kill(const std::string& role) = 0;
  /// Sends SIGINT to every process of the run, including this one and the tracker, as a terminal
  /// does at Ctrl-C. Returns, if this one survives, when all have died that neither ignore nor
  /// block it; that is not a crash. A stopped process dies when it is resumed.
  virtual void interrupt_all() = 0;
  /// How many processes in `role` are alive.
  virtual std::size_t processes(const std::string& role) = 0;
  /// Only in the kernel world: forks this process without the product's knowledge. The copy keeps
  /// all descriptors, runs `body` as a role does, and dies. False where there is no real fork.
  virtual bool fork_stranger(std::function<Status()> body) = 0;

  // Resources of this process, which may not grow with the work it has done.

  /// Bytes of the heap that are not the harness's own. Empty where that is unknown: where all
  /// processes of a run share one heap, or a sanitizer has its own.
  virtual std::optional<std::uint64_t> heap_in_use() = 0;
  /// Bytes of address space that its Os has mapped.
  virtual std::uint64_t mapped() = 0;

  /// Whether no planned fault has been injected so far but pauses and short transfers: then every
  /// operation does what it does in a clean run.
  virtual bool is_undisturbed() const noexcept = 0;
  /// A finding of the scenario's own: `claim` does not hold because `seen`.
  virtual void refute(const std::string& claim, const std::string& seen) = 0;

 protected:
  /// The tree that a started role is to join: that of this process, or none.
  Result<std::string> tree_to_join();
  /// The error of `receive` when no process is left that could give the signal.
  static tl::unexpected<Error> nobody_left(const std::string& signal) {
    return failure(std::errc::no_message_available, signal);
  }

  Stage(Setting setting, OperationLog& log) noexcept
      : setting_(std::move(setting)), product_(*this, log) {}

 private:
  /// The parameter has to be declared in the registration of the scenario.
  const DeclaredParameter& declared(std::string_view parameter) const;
  std::string_view value_of(const DeclaredParameter& parameter) const;
  std::int64_t number_of(std::string_view parameter) const;

  Setting setting_;
  Product product_;
};

}  // namespace lastref::harness
