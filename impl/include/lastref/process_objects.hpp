// ProcessObjects: state that exists once per process, however many lastref objects it has.
//
// POSIX record locks belong to a process, and are dropped when it closes any descriptor of their
// file. So code that opens a lock file has to know whether other code in the process has it open.
// Therefore lock files are opened through LockFile (impl/tracker/lock_file.hpp), which checks here.
// And a program that requests a session in five places means the same session each time. Another
// copy of the library in the process, in a plugin, has objects of its own: the kernel is queried
// for its locks.
//
// Every Os returns the objects of its process. For KernelOs they are the objects of the program. A
// forked child starts with new ones, because it has none of its parent's locks.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <lastref/thread_safety.hpp>

namespace lastref::os {

class Monitor;
class Os;
enum class Fd : int;

/// A thread that runs tasks of pools in a worker.
struct NestedThread {
  std::int32_t thread = 0;  ///< Its id.
  NestedThread* next = nullptr;
};

class ProcessObjects {
 public:
  /// A lock file that is open here.
  struct OpenLockFile {
    /// The first is used. Others were opened by mistake; they are closed with it, not before.
    std::vector<Fd> fds;
    /// 0: it stays open because another copy of the library has locks on the file.
    int users = 1;
    bool is_swept = false;  ///< Open in a sweep, which checks whether all others are dead.
  };
  /// A membership in a tree that objects of this process share.
  struct Membership {
    std::weak_ptr<void> client;
    bool in_worker = false;
  };
  using FileId = std::pair<std::uint64_t, std::uint64_t>;  // device, inode

  /// Whether this process has locked the file through any descriptor that is not in `own`.
  using HasRecordLock = bool (*)(FileId file, std::span<const Fd> own) noexcept;

  explicit ProcessObjects(std::unique_ptr<Monitor> monitor,
                          HasRecordLock has_record_lock = nullptr) noexcept;
  ProcessObjects(const ProcessObjects&) = delete;
  ProcessObjects& operator=(const ProcessObjects&) = delete;
  ~ProcessObjects();

  Monitor& monitor() noexcept { return *monitor_; }
  /// Whether another copy of the library has locked the file. `own` are its descriptors here.
  bool is_locked_by_another_copy(FileId file, std::span<const Fd> own) const noexcept {
    return has_record_lock_ != nullptr && has_record_lock_(file, own);
  }

  std::map<FileId, OpenLockFile> lock_files LASTREF_GUARDED_BY(monitor());
  /// Other files on which this process has record locks, each through an owner of its own. No other
  /// code in this process may open them.
  std::set<FileId> locked_files LASTREF_GUARDED_BY(monitor());
  std::map<const Os*, Membership> memberships LASTREF_GUARDED_BY(monitor());
  NestedThread* nested_threads LASTREF_GUARDED_BY(monitor()) = nullptr;
  /// Locks of open caches, which exclude threads as well as processes: one object for each file.
  std::map<std::pair<const Os*, FileId>, std::weak_ptr<void>> shared_locks
      LASTREF_GUARDED_BY(monitor());

 private:
  std::unique_ptr<Monitor> monitor_;
  HasRecordLock has_record_lock_;
};

/// Provides the objects of the calling process. A forked child gets new ones, and never uses those
/// of its parent: their monitor may be locked permanently.
class GenerationsOfObjects {
 public:
  explicit GenerationsOfObjects(ProcessObjects::HasRecordLock has_record_lock = nullptr) noexcept
      : has_record_lock_(has_record_lock) {}
  GenerationsOfObjects(const GenerationsOfObjects&) = delete;
  GenerationsOfObjects& operator=(const GenerationsOfObjects&) = delete;
  ~GenerationsOfObjects();

  /// `os` makes the monitor; `process` is the token of its process.
  ProcessObjects& of(Os& os, std::uint64_t process);

 private:
  struct Generation;
  ProcessObjects::HasRecordLock has_record_lock_;
  std::atomic<Generation*> newest_ = nullptr;
};

}  // namespace lastref::os
