// Sandbox: isolates a server's runs: namespaces, file systems, pids, standard error.
//
// The run's own folders are below /dev/shm/world: `files` for the scenario, `runtime` for trees,
// and `tmp`, which is $TMPDIR and a file system of its own. Everything else in /dev/shm was created
// by processes of the run.
#pragma once

#include <string>
#include <vector>

#include <lastref/os.hpp>

namespace lastref::harness {

class Sandbox {
 public:
  /// Called once in the server, after it has its namespaces or could not have them.
  explicit Sandbox(std::string missing);

  /// Empty when nothing is missing.
  const std::string& degraded() const noexcept { return degraded_; }
  const std::string& files() const noexcept { return files_; }
  const std::string& runtime() const noexcept { return runtime_; }
  const std::string& spare() const noexcept { return spare_; }
  /// A folder that is not used as a temporary folder, and stays empty.
  const std::string& elsewhere() const noexcept { return elsewhere_; }
  /// Gives the sandbox's own folders to the user that runs the processes. False if that fails.
  bool give_to(std::uint32_t user) const noexcept;

  /// To be called before each run: the next pid is the same each time, and standard error is empty.
  void prepare() noexcept;
  /// To be called after the last process of a run: lifts the limits of storage, and restores the
  /// modes of the sandbox's own folders.
  void restore() const noexcept;
  /// Absolute paths of leftovers, ordered, without the sandbox's own folders.
  std::vector<std::string> left() const;
  /// The folder that contains all leftovers.
  std::string watched() const;
  void wipe() const;
  /// Orderly shutdown, called once: removes the sandbox.
  void leave() const;
  std::string standard_error() const;

 private:
  void mount_all();
  void fall_back();
  void set_environment() const noexcept;
  bool is_ours(const std::string& path) const;

  std::string degraded_;
  std::string root_;
  std::string files_;
  std::string runtime_;
  std::string spare_;
  std::string elsewhere_;
};

/// Starts the server's process, in new namespaces if permitted, and runs `body` there, which never
/// returns. `missing` is what it lacks. Returns the pid, or -1.
int fork_server(void (*body)(void* with, const std::string& missing), void* with);

}  // namespace lastref::harness
