// Scenario: who runs what. Written once, run in every world.
//
// A scenario has roles. The world starts the role "root"; roles start each other through their
// Stage. The tracker is a role too: it is started by the product through Os::spawn, as the entry
// "tracker". What else the product starts is a role of the scenario: Os::spawn of "worker" is
// "worker_1" if the last argument is "1" and there is such a role, else "worker"; its first
// argument is the tree to join, and what it was passed is open under its numbers. A role's body is
// told nothing about faults: it does its work, checks what it was promised, and returns when a call
// fails.
#pragma once

#include <cstdint>
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
  /// With what this process was started: those of Os::spawn, or the tree alone, which may be empty.
  virtual std::span<const std::string> arguments() const noexcept = 0;
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
  /// Says a word that carries bytes: up to 2000 of any value, and 16 such words a run. Who sends
  /// under the same word again replaces the bytes.
  virtual void send(const std::string& word, const std::string& bytes) = 0;
  /// Waits for a word like `await`. Its bytes, which stay for others, and are none if it was only
  /// told; nothing when nobody is left who could say it.
  virtual std::optional<std::string> receive(const std::string& word) = 0;
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
  /// all descriptors, runs `body`, and dies. False where there is no real fork.
  virtual bool fork_stranger(std::function<void()> body) = 0;
  /// Whether nothing of what is planned has struck so far: then all goes as the scenario says.
  virtual bool is_undisturbed() const noexcept = 0;
  /// A finding of the scenario's own: `claim` does not hold because `seen`.
  virtual void refute(const std::string& claim, const std::string& seen) = 0;

  // What the system has to give. None of this crosses the seam.

  /// $TMPDIR of the run: empty at first, and a file system of its own.
  virtual const std::string& spare_folder() const noexcept = 0;
  /// From now on the file system of /dev/shm has room for so many more bytes (rounded up to pages)
  /// and inodes, until `free_storage` or the end of the last process. False where it cannot be
  /// done.
  virtual bool limit_storage(std::uint64_t bytes, std::uint64_t inodes) = 0;
  virtual void free_storage() = 0;
  /// No write of this process, and of those that it starts from now on, reaches past that size of
  /// a file (RLIMIT_FSIZE). What is said on standard error counts as no file.
  virtual void limit_file_size(std::uint64_t bytes) = 0;
  /// Permission bits are refused to this process from now on, and to those that it starts, although
  /// they are root's. Before it has threads: they would not obey. False in the sim, where root may
  /// do all.
  virtual bool obey_modes() = 0;
  /// chmod by somebody who may, if the path is there.
  virtual void change_mode(const std::string& path, std::uint32_t mode) = 0;

  // What an outside party does, who may do all: no crossing, and nothing of the product's. What it
  // leaves is left over like anything else. False when it could not be done. Not for files on which
  // this process holds a lock: to close one drops it.

  virtual bool outside_unlink(const std::string& path) = 0;
  virtual bool outside_rmdir(const std::string& path) = 0;
  virtual bool outside_make_folder(const std::string& path, std::uint32_t mode) = 0;
  virtual bool outside_symlink(const std::string& target, const std::string& path) = 0;
  /// A file with these bytes: a new one, 0600, or what was there with other content.
  virtual bool outside_write(const std::string& path, const std::string& bytes) = 0;
  /// The next process that is started gets this pid, which a child of this process had that is
  /// dead. False where pids are not ours to give.
  virtual bool reuse_pid(os::Pid pid) = 0;
  /// The names in a folder, ordered; none if it is not there.
  virtual std::vector<std::string> outside_list(const std::string& folder) = 0;

  // Words of the product, with their place in the journal. They return what the product returned.
  Status lead();  ///< Become the root of a new tree.
  Status join();  ///< Join the tree of the parent role.
  Status register_name(const Resource& resource, const std::optional<Identity>& identity = {});
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
  /// Any other word of the product: notes `name` around `act`, and returns what `act` did. Words
  /// nest; those inside of it are noted as they come.
  Status word(std::string_view name, const std::function<Status()>& act);
  /// The same for oracles that have to know more: notes what is asked, and what `act` answers.
  Status word_with_answer(std::string_view name,
                          const std::string& asked,
                          const std::function<Result<std::string>()>& act);
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
  /// Words that fail in a run without faults, because that is what it is about.
  std::vector<std::string> failing_words = {};
  bool kernel_only = false;  ///< Needs what a simulation has not: a real fork, address spaces.
  bool in_matrix = true;     ///< Its clean run is enumerated and failed point by point.
  bool in_gate = true;       ///< The canary is not.
  /// Its caches meet limits and full disks: a put may be refused at any time.
  bool caches_refuse = false;
  /// Its tracker keeps no ledger (loky mode): what it could not remove, or had when it was killed,
  /// stays.
  bool no_ledger = false;
  /// A tree of it dies whole: what that leaves may stay until the next start.
  bool leaves_to_the_next_start = false;
  /// Resources that the scenario leaves behind on purpose (it forgot them), as to_text gives them.
  std::vector<std::string> stays = {};
  /// umask of the run's processes, and the like, stay the world's business.
};

/// Nothing if the scenario has no such role.
const Role* role_named(const Scenario& scenario, std::string_view name) noexcept;
/// The role of a process that the product starts as an entry which is none of its own: "worker_1"
/// for worker with {tree, "1"} where there is that role, else "worker"; nothing if that is none
/// either.
const Role* role_started_as(const Scenario& scenario,
                            const std::string& entry,
                            std::span<const std::string> arguments);

/// Every scenario linked into the program, in the order of their names.
const std::vector<Scenario>& catalog();

}  // namespace lastref::harness
