// tracker::Client: a process's membership in a tree, and its references to names.
//
// One tracker serves one process tree. The root leads the tree; every other process joins it. A
// reference belongs to the process that took it, and ends with that process, whatever kills it.
//
// Each tree has a folder of its own below the runtime folder:
//   lock    one byte per process, locked at the offset of its pid: shows which ones are alive
//   ledger  the names that are counted; only the tracker writes it, before it answers
//   socket  the tracker listens here; the root keeps it open, so it outlives a tracker
// So a new tracker knows which processes have to announce their references, and which names were
// ever counted. If all processes of a tree were killed, the next start of any program cleans up its
// leftovers.
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
  os::Pid holder = 0;       ///< 0 if references are not attributed
  std::uint64_t count = 0;  ///< 1 or more

  auto operator<=>(const Count&) const = default;
};

struct RootOptions {
  /// The folder of the trees. Empty: $LASTREF_RUNTIME_FOLDER, else the first usable one of
  /// /dev/shm/lastref-<uid> and /tmp/lastref-<uid>.
  std::string runtime_folder = {};
};

/// All methods may be called from any thread, and from a forked child. A forked child is a member
/// of its own: it holds nothing, and joins the tree at its first call. If memory is short, a method
/// fails with not_enough_memory and has no effect; a later call works when there is memory.
///
/// A relative name of a file or folder is resolved in the working folder at the time of the call.
///
/// Limits          A forked child keeps its copies of the parent's descriptors until it ends or
///                 executes another program.
class Client {
 public:
  /// Becomes the root of a new tree. Before the first use nothing is created and no tracker runs.
  /// Returns null if memory is short.
  static std::unique_ptr<Client> lead(os::Os& os, RootOptions options = {}) noexcept;

  /// Joins the tree with the folder `tree`, which is the result of `tree()` in the process that
  /// started this one. Connects at once.
  ///
  /// Errors          connection_refused, no_such_file_or_directory: the tree has ended;
  ///                 permission_denied: it is another user's.
  static Result<std::unique_ptr<Client>> join(os::Os& os, const std::string& tree) noexcept;

  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  /// Leaves the tree: references that are still held count as released.
  ~Client();

  /// Returns the tree's folder, for processes that are to join. Starts the tracker if none runs.
  ///
  /// Errors          those of creating the tree or starting the tracker: nothing remains, and the
  ///                 call can be repeated.
  Result<std::string> tree() noexcept;

  /// Counts +1; a new name starts at 1. When it returns, the tracker has counted the reference, and
  /// no clean-up of an earlier use of the name is pending: now create the thing. If the thing
  /// already exists under another name and will be renamed, pass its identity: then no other thing
  /// of that name will be removed, not even if all processes of the tree are killed.
  ///
  /// Errors          invalid_argument, filename_too_long: the tracker cannot carry the name; errors
  ///                 of working_folder; no_space_on_device: the ledger is full; the error has its
  ///                 path. Nothing was counted.
  /// Source          loky resource_tracker.py, REGISTER; joblib registers before it dumps.
  Status register_name(const Resource& resource,
                       const std::optional<Identity>& identity = {}) noexcept;

  /// Sets the identity of the thing with a name that this process holds: no other thing of that
  /// name will be removed. Without an identity, the name means any thing that has it from now on.
  ///
  /// Errors          as register_name; nothing has changed then.
  Status identify(const Resource& resource, const std::optional<Identity>& identity) noexcept;

  /// Counts +1 on a name that another process holds, and will hold until this process has confirmed
  /// to it that it holds the name too. When the method returns, the tracker has read the message,
  /// or will read it before any release that follows from that confirmation. The tracker reports an
  /// unknown name, which is harmless.
  ///
  /// Errors          as register_name, except those of the ledger.
  Status hold(const Resource& resource) noexcept;

  /// Counts -1. At 0 the name ends and the thing is cleaned up. Never waits, not even for a stopped
  /// tracker. The tracker reports a name that this process does not hold, which is harmless.
  ///
  /// Errors          connection_refused, connection_aborted: the tree has ended; its references are
  ///                 not counted any more.
  /// Source          loky resource_tracker.py, MAYBE_UNLINK.
  Status release(const Resource& resource) noexcept;

  /// Ends the name whatever its count, and does not remove the thing. Returns when that is certain.
  ///
  /// Errors          io_error: the ledger could not be written, the name is still counted;
  ///                 connection_refused, connection_aborted: the tree has ended.
  /// Source          loky resource_tracker.py, UNREGISTER.
  Status forget(const Resource& resource) noexcept;

  /// Returns every name, holder and count, ordered. After the death of a tracker it waits until
  /// every process has announced its references to the next tracker.
  ///
  /// Errors          connection_refused, connection_aborted: the tree has ended.
  Result<std::vector<Count>> counts() noexcept;

  /// Returns when the tracker has processed everything that this process sent before.
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
