// Outside: a party that is not part of the product and has all permissions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <lastref/os.hpp>

namespace lastref::harness {

/// The actions of an outside party are no crossings, and are not the product's. Its leftovers count
/// like any others. False if an action was impossible: in a disturbed run the object may be
/// missing. Do not use it on a file on which this process holds a lock: closing the file drops the
/// lock.
class Outside {
 public:
  Outside() = default;
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;
  virtual ~Outside() = default;

  virtual bool unlink(const std::string& path) = 0;
  virtual bool rmdir(const std::string& path) = 0;
  virtual bool make_folder(const std::string& path, std::uint32_t mode) = 0;
  virtual bool symlink(const std::string& target, const std::string& path) = 0;
  /// Creates a file with these bytes, mode 0600, or replaces the content of an existing one.
  virtual bool write(const std::string& path, const std::string& bytes) = 0;
  /// The names in a folder, sorted; none if the folder does not exist.
  virtual std::vector<std::string> list(const std::string& folder) = 0;
  /// Whether systemd-tmpfiles would pass over the folder, because a process has locked it.
  virtual bool is_locked(const std::string& folder) = 0;
  /// chmod, if the path is there.
  virtual void change_mode(const std::string& path, std::uint32_t mode) = 0;
  /// Stops reading the standard error of this process, and fills it, until `read_messages_again`.
  /// Standard error of processes started meanwhile is read. False if it was not read before.
  virtual bool leave_messages_unread() = 0;
  virtual void read_messages_again() = 0;
  /// The next process to be started gets this pid, which a dead child of this process had. False
  /// where the pids cannot be chosen.
  virtual bool reuse_pid(os::Pid pid) = 0;
};

}  // namespace lastref::harness
