// Outside: somebody who has nothing to do with the product, and may do all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <lastref/os.hpp>

namespace lastref::harness {

/// What an outside party does is no crossing, and none of the product's. What it leaves is left
/// over like anything else. False is what could not be done: in a disturbed run the thing may not
/// be there. Not for files on which this process holds a lock: to close one drops it.
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
  /// A file with these bytes: a new one, 0600, or what was there with other content.
  virtual bool write(const std::string& path, const std::string& bytes) = 0;
  /// The names in a folder, ordered; none if it is not there.
  virtual std::vector<std::string> list(const std::string& folder) = 0;
  /// Whether systemd-tmpfiles would pass over the folder, because a process has locked it.
  virtual bool is_locked(const std::string& folder) = 0;
  /// chmod, if the path is there.
  virtual void change_mode(const std::string& path, std::uint32_t mode) = 0;
  /// Nobody reads standard error of this process any more, and it is full; until somebody reads it
  /// again. What a process says on it that is started meanwhile is read. False where nobody has
  /// read it before.
  virtual bool leave_messages_unread() = 0;
  virtual void read_messages_again() = 0;
  /// The next process that is started gets this pid, which a child of this process had that is
  /// dead. False where pids are not ours to give.
  virtual bool reuse_pid(os::Pid pid) = 0;
};

}  // namespace lastref::harness
