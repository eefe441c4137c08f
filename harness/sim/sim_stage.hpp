// SimStage: the Stage of a process of a simulated run.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/scenario/scenario.hpp"
#include "harness/sim/sim_run.hpp"

namespace lastref::harness::sim {

// The same places as in the kernel world.
inline constexpr const char* files_folder = "/dev/shm/world/files";
inline constexpr const char* runtime_folder = "/dev/shm/world/runtime";
inline constexpr const char* spare_folder_of_run = "/dev/shm/world/tmp";

class SimStage final : public Stage {
 public:
  SimStage(SimRun& run, Member& member, std::span<const std::string> arguments)
      : run_(run), member_(member), arguments_(arguments) {}

  os::Os& os() noexcept override { return *member_.os; }
  const std::string& role() const noexcept override { return member_.role; }
  std::span<const std::string> arguments() const noexcept override { return arguments_; }
  const std::string& folder() const noexcept override { return folder_; }
  Status start(const std::string& role) override;
  void tell(const std::string& word) override;
  bool await(const std::string& word) override;
  void send(const std::string& word, const std::string& bytes) override;
  std::optional<std::string> receive(const std::string& word) override;
  void stop(const std::string& role) override;
  bool resume(const std::string& role) override;
  void kill(const std::string& role) override;
  void interrupt_all() override;
  std::size_t processes(const std::string& role) override;
  bool fork_stranger(std::function<void()>) override { return false; }
  bool is_undisturbed() const noexcept override;
  void refute(const std::string& claim, const std::string& seen) override;

  // sim_outside.cpp
  const std::string& spare_folder() const noexcept override { return spare_; }
  bool limit_storage(std::uint64_t bytes, std::uint64_t inodes) override;
  void free_storage() override;
  void limit_file_size(std::uint64_t bytes) override;
  bool obey_modes() override { return false; }
  void change_mode(const std::string& path, std::uint32_t mode) override;
  bool outside_unlink(const std::string& path) override;
  bool outside_rmdir(const std::string& path) override;
  bool outside_make_folder(const std::string& path, std::uint32_t mode) override;
  bool outside_symlink(const std::string& target, const std::string& path) override;
  bool outside_write(const std::string& path, const std::string& bytes) override;
  bool reuse_pid(os::Pid pid) override;
  std::vector<std::string> outside_list(const std::string& folder) override;

 protected:
  void note(std::string_view word, const std::string& text, bool begins, int error) override;
  std::string tree_of_parent() const override {
    return arguments_.empty() ? std::string() : arguments_.front();
  }

 private:
  void signal(const std::string& role, os::Signal signal);

  SimRun& run_;
  Member& member_;
  std::span<const std::string> arguments_;
  std::string folder_ = files_folder;
  std::string spare_ = spare_folder_of_run;
};

}  // namespace lastref::harness::sim
