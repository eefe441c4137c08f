// Scenario: who runs what. Written once, run in every world.
//
// A scenario has roles. The world starts the role "root"; roles start each other through their
// Stage. The tracker is a role too: it is started by the product through Os::spawn, as the entry
// "tracker". A role's body is told nothing about faults: it does its work, checks what it was
// promised, and returns when a call fails.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <lastref/os.hpp>
#include <lastref/resource.hpp>
#include <lastref/tracker_client.hpp>

namespace lastref::harness {

/// What the role of a process sees of the harness. One object a process.
///
/// The product words (`lead` ... `forget`) call the product's client and note in the journal when
/// each began and how it ended: the oracles count from that, and from nothing the tracker says.
class Stage {
 public:
  Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  virtual ~Stage() = default;

  /// The instrumented Os of this process.
  virtual os::Os& os() noexcept = 0;
  virtual const std::string& role() const noexcept = 0;
  /// An absolute, private, empty folder for the run's files.
  virtual const std::string& folder() const noexcept = 0;
  /// Starts another role of the same scenario as a child process. It gets the tree of this process,
  /// if there is one, for `join`.
  virtual Status start(const std::string& role) = 0;

  /// Says a word to the other roles. Part of the harness: costs no system call and cannot fail.
  virtual void tell(const std::string& word) = 0;
  /// Waits for a word. False when nobody is left who could say it (everything else is dead or
  /// waits).
  virtual bool await(const std::string& word) = 0;
  /// Holds all other processes in `role` still (SIGSTOP), and lets them go on.
  virtual void stop(const std::string& role) = 0;
  /// False if nobody in `role` was held still any more: when all others wait for them, the world
  /// lets them go on by itself.
  virtual bool resume(const std::string& role) = 0;
  /// SIGKILLs every process in `role`, and returns when they are dead.
  virtual void kill(const std::string& role) = 0;
  /// Only in the kernel world: forks this process without the product's knowledge. The copy keeps
  /// all descriptors, runs `body`, and dies. False where there is no real fork.
  virtual bool fork_stranger(std::function<void()> body) = 0;
  /// A finding of the scenario's own: `claim` does not hold because `seen`.
  virtual void refute(const std::string& claim, const std::string& seen) = 0;

  // Words of the product, with their place in the journal. They return what the product returned.
  Status lead();  ///< Become the root of a new tree.
  Status join();  ///< Join the tree of the parent role.
  Status register_name(const Resource& resource);
  Status hold(const Resource& resource);
  Status release(const Resource& resource);
  Status forget(const Resource& resource);
  /// Creates the thing itself: a file of a few bytes, a folder, a semaphore, a shared memory
  /// object.
  Status make(const Resource& resource);
  /// True while the thing itself is there; refutes "a name that is held is there" if it is not.
  bool must_exist(const Resource& resource);
  /// Ends this process's membership, in good order.
  void leave();
  tracker::Client& client() noexcept { return *client_; }
  bool has_client() const noexcept { return client_ != nullptr; }

  /// A file, folder, semaphore or shm name of this run. `name` without slash.
  Resource file(const std::string& name) const;
  Resource folder_of(const std::string& name) const;
  Resource semaphore(const std::string& name) const;
  Resource shm(const std::string& name) const;

 protected:
  /// Where the words go. `text` is the resource as to_text gives it.
  virtual void note(std::string_view word, const std::string& text, bool begins, int error) = 0;
  virtual std::string tree_of_parent() const = 0;

 private:
  Status noted(std::string_view word, const Resource& resource, const std::function<Status()>& act);

  std::unique_ptr<tracker::Client> client_;
};

using Body = std::function<void(Stage&)>;

struct Role {
  std::string name;
  Body body;
};

struct Scenario {
  std::string name;               ///< "<family>/<sentence_in_snake_case>"
  std::string sentence;           ///< What must hold, for people.
  std::vector<std::string> rows;  ///< SPEC rows that it shows: "T9"
  std::vector<Role> roles;        ///< "root" is among them.
  /// What a run without faults says on standard error: each of these is in some line, and each line
  /// has one of these.
  std::vector<std::string> expected_noise = {};
  /// What it may say besides, depending on who is faster.
  std::vector<std::string> possible_noise = {};
  bool kernel_only = false;  ///< Needs what a simulation has not: a real fork, address spaces.
  bool in_matrix = true;     ///< Its clean run is enumerated and failed point by point.
  bool in_gate = true;       ///< The canary is not.
  /// Its tracker keeps no ledger (loky mode): what it could not remove, or had when it was killed,
  /// stays.
  bool no_ledger = false;
  /// Resources that the scenario leaves behind on purpose (it forgot them), as to_text gives them.
  std::vector<std::string> stays = {};
  /// umask of the run's processes, and the like, stay the world's business.
};

/// Every scenario linked into the program, in the order of their names.
const std::vector<Scenario>& catalog();

}  // namespace lastref::harness
