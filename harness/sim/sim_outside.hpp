// SimOutside: an outside party of a simulated run, which is root and the parent of the run's first
// process.
#pragma once

#include <string>
#include <vector>

#include "harness/scenario/outside.hpp"
#include "harness/sim/sim_run.hpp"

namespace lastref::harness::sim {

class SimOutside final : public Outside {
 public:
  SimOutside(SimRun& run, Member& member) noexcept : run_(run), member_(member) {}

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
  SimRun& run_;
  Member& member_;
};

}  // namespace lastref::harness::sim
