// KernelOutside: the actions of an outside party in the kernel world.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "harness/scenario/outside.hpp"

namespace lastref::harness {

/// What an outside party has to know about the process from which it acts.
struct OutsideSetting {
  std::string files;  ///< the scenario's folder
  bool is_isolated;   ///< The run has its own /dev/shm and pids.
  bool is_read;       ///< A process reads what this process writes to standard error.
  /// Called with each path before it is written.
  std::function<void(const std::string&)> note_writing;
};

class KernelOutside final : public Outside {
 public:
  explicit KernelOutside(OutsideSetting setting) : setting_(std::move(setting)) {}

  bool unlink(const std::string& path) override;
  bool rmdir(const std::string& path) override;
  bool make_folder(const std::string& path, std::uint32_t mode) override;
  bool symlink(const std::string& target, const std::string& path) override;
  bool write(const std::string& path, const std::string& bytes) override;
  std::vector<std::string> list(const std::string& folder) override;
  bool is_locked(const std::string& folder) override;
  void change_mode(const std::string& path, std::uint32_t mode) override;
  bool leave_messages_unread() override;
  void read_messages_again() override;
  bool reuse_pid(os::Pid pid) override;

 private:
  OutsideSetting setting_;
};

}  // namespace lastref::harness
