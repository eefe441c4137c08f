// tracker::Client: a process's membership in a tree, and its references to names.
//
// One tracker serves one process tree. The root leads the tree; every other process joins it. A
// reference belongs to the process that took it, and ends with that process whatever kills it.
//
// The tree lives in a folder of its own below the runtime folder:
//   lock    one byte a process, locked at the offset of its pid: who lives, as the kernel knows it
//   ledger  the names that are counted, written by the tracker alone before it answers
//   socket  where the tracker listens; the root keeps it open, so it outlives a tracker
// So a new tracker knows who has to announce what it holds and which names were ever counted, and
// the next start of anybody can clean up behind a tree that was killed whole.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <lastref/os.hpp>
#include <lastref/resource.hpp>

namespace lastref::tracker {

/// One line of an answer to `counts`.
struct Count {
  Resource resource;
  os::Pid holder = 0;       ///< 0 where references are not attributed
  std::uint64_t count = 0;  ///< 1 or more

  auto operator<=>(const Count&) const = default;
};

struct RootOptions {
  /// Where trees live. Empty: $LASTREF_RUNTIME_FOLDER, else the first usable of
  /// /dev/shm/lastref-<uid> and /tmp/lastref-<uid>.
  std::string runtime_folder = {};
};

/// All methods may be called from any thread, and from a forked child, which speaks for itself: it
/// holds nothing, and joins the tree anew at its first call. Without memory each fails with
/// not_enough_memory and has done nothing; the next call works when there is memory.
///
/// Names of files and folders that are relative are taken to be in the working folder, at the time
/// of the call.
///
/// Limits          a forked child keeps its copies of the parent's descriptors until it ends or
///                 executes another program.
class Client {
 public:
  /// Becomes the root of a new tree. Nothing is created and no tracker runs before the first use.
  /// None if there is no memory for it.
  static std::unique_ptr<Client> lead(os::Os& os, RootOptions options = {}) noexcept;

  /// Joins the tree whose folder is `tree`, as `tree()` of the process that started us gave it.
  /// Connects at once.
  ///
  /// Errors          connection_refused, no_such_file_or_directory: the tree has ended;
  ///                 permission_denied: it is another user's.
  static Result<std::unique_ptr<Client>> join(os::Os& os, const std::string& tree) noexcept;

  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  /// Leaves the tree: what is still held counts as released.
  ~Client();

  /// The tree's folder, for processes that shall join. Starts the tracker if none runs.
  ///
  /// Errors          of making the tree or starting the tracker: nothing is left, try again.
  Result<std::string> tree() noexcept;

  /// Counts +1, at 1 if the name is new. When it returns, the tracker has counted it, and no
  /// clean-up of an earlier life of the name is left to run: now create the thing. Who has it under
  /// another name already, and is about to rename it, says which thing it is: then nothing else
  /// that has the name will be removed, not even if all of the tree are killed.
  ///
  /// Errors          invalid_argument, filename_too_long: the name cannot be carried; what
  ///                 working_folder said; no_space_on_device: the ledger, whose path it says, is
  ///                 full. Nothing was counted.
  /// Source          loky resource_tracker.py, REGISTER; joblib registers before it dumps.
  Status register_name(const Resource& resource,
                       const std::optional<Identity>& identity = {}) noexcept;

  /// Says which thing it is that has a name which this process holds: nothing else that has the
  /// name will be removed. Without one it is whatever has the name from now on.
  ///
  /// Errors          as register_name; nothing has changed then.
  Status identify(const Resource& resource, const std::optional<Identity>& identity) noexcept;

  /// Counts +1 on a name that somebody holds now and will hold until we have said that we do. When
  /// it returns the tracker has it or will read it before any release that follows from our answer.
  /// An unknown name is reported by the tracker, and harmless.
  ///
  /// Errors          as register_name, but for the ledger's.
  Status hold(const Resource& resource) noexcept;

  /// Counts −1; whoever takes it to 0 ends the name and has it cleaned up. Never waits, not even
  /// for a tracker that is stopped. What we do not hold is reported by the tracker, and harmless.
  ///
  /// Errors          connection_refused, connection_aborted: the tree has ended; what was held is
  ///                 not counted any more.
  /// Source          loky resource_tracker.py, MAYBE_UNLINK.
  Status release(const Resource& resource) noexcept;

  /// Ends the name whatever its count, and leaves the thing alone. Returns when that is certain.
  ///
  /// Errors          io_error: the ledger could not be written, the name is still counted;
  ///                 connection_refused, connection_aborted: the tree has ended.
  /// Source          loky resource_tracker.py, UNREGISTER.
  Status forget(const Resource& resource) noexcept;

  /// Every name, holder and count, ordered. After the death of a tracker it waits until every
  /// process has told the next one what it holds.
  ///
  /// Errors          connection_refused, connection_aborted: the tree has ended.
  Result<std::vector<Count>> counts() noexcept;

  /// Returns when the tracker has dealt with all that this process sent before.
  ///
  /// Errors          connection_refused, connection_aborted: the tree has ended.
  Status probe() noexcept;

 private:
  struct State;
  explicit Client(std::unique_ptr<State> state);
  State& mine();
  template <typename Act>
  Status with_absolute(const Resource& resource, Act act) noexcept;

  std::atomic<State*> state_;  // replaced in a forked child
};

}  // namespace lastref::tracker
