// KernelOutside: what an outside party does in the kernel world.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "harness/scenario/outside.hpp"

namespace lastref::harness {

class KernelOutside final : public Outside {
 public:
  /// `files` is the scenario's folder, and `has_walls` says whether /dev/shm and the pids are the
  /// run's own. `note_writing` is given each path before it is written.
  KernelOutside(std::string files,
                bool has_walls,
                std::function<void(const std::string&)> note_writing)
      : files_(std::move(files)), has_walls_(has_walls), note_writing_(std::move(note_writing)) {}

  bool unlink(const std::string& path) override;
  bool rmdir(const std::string& path) override;
  bool make_folder(const std::string& path, std::uint32_t mode) override;
  bool symlink(const std::string& target, const std::string& path) override;
  bool write(const std::string& path, const std::string& bytes) override;
  std::vector<std::string> list(const std::string& folder) override;
  void change_mode(const std::string& path, std::uint32_t mode) override;
  bool reuse_pid(os::Pid pid) override;

 private:
  std::string files_;
  bool has_walls_;
  std::function<void(const std::string&)> note_writing_;
};

}  // namespace lastref::harness
