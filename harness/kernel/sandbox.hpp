// Sandbox: the walls around a server's runs: namespaces, file systems, pids, standard error.
//
// Below /dev/shm/world lie the run's own folders: `files` for the scenario, `runtime` for trees,
// and `tmp`, which is $TMPDIR and a file system of its own. All else in /dev/shm is what processes
// of the run created there.
#pragma once

#include <string>
#include <vector>

#include <lastref/os.hpp>

namespace lastref::harness {

class Sandbox {
 public:
  /// In the server, once, after it has its namespaces or could not have them.
  explicit Sandbox(std::string missing);

  /// Empty when nothing is missing.
  const std::string& degraded() const noexcept { return degraded_; }
  const std::string& files() const noexcept { return files_; }
  const std::string& runtime() const noexcept { return runtime_; }
  const std::string& spare() const noexcept { return spare_; }
  /// A folder that is nobody's temporary one, and stays empty.
  const std::string& elsewhere() const noexcept { return elsewhere_; }
  /// Of whose runs it is: the sandbox's own folders are theirs. False if that cannot be.
  bool give_to(std::uint32_t user) const noexcept;

  /// Before each run: the next pid is the same each time, and nothing has been said.
  void prepare() noexcept;
  /// After the last process of a run: gives back the storage that it limited, and the sandbox's own
  /// folders are as open as they were.
  void restore() const noexcept;
  /// Absolute paths of what is left, ordered. The sandbox's own folders are not among
  /// them.
  std::vector<std::string> left() const;
  /// The folder that all of that is in.
  std::string watched() const;
  void wipe() const;
  /// In good order, once: nothing of the sandbox stays.
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

/// A child, process 1 of a new pid namespace if that is `permitted`. As fork(2).
os::Pid fork_first_process(bool& permitted) noexcept;

/// Whether there is a /proc, of this process's pid namespace. Without it no run can be watched.
bool has_proc() noexcept;
/// What to report if there is none.
inline constexpr const char* no_proc =
    "/proc is missing, or is that of another pid namespace; mount -t proc proc /proc";

/// In the place of the /proc that is there, one of this process's pid namespace. False and errno if
/// that cannot be.
bool mount_proc() noexcept;

/// The server's process, in new namespaces if that is permitted: runs `body` there, which never
/// comes back. `missing` is what it has to do without. The pid, or -1.
int fork_server(void (*body)(void* with, const std::string& missing), void* with);

/// What this process, in a mount namespace of its own, mounts from now on is seen by nobody else.
/// False with errno.
bool keep_mounts_private() noexcept;

}  // namespace lastref::harness
