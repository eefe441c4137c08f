// files: reads and writes whole files, locks them, and makes temporary folders.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "harness/platform/unique_fd.hpp"

namespace lastref::perf {

/// The bytes of a file; nothing if it cannot be opened.
std::optional<std::string> text_of(const std::filesystem::path& path);

/// Whether `write_whole` can begin, as far as is known without writing. Changes nothing.
bool is_writable(const std::filesystem::path& path);

/// Writes a new file in the same folder and renames it at the end: the file has the whole text, or
/// what it had before. A path that is not a regular file, such as /dev/stdout, is written to
/// directly.
///
/// Throws          the text could not be written completely; the file is unchanged
void write_whole(const std::filesystem::path& path, const std::string& text);

/// A new temporary folder, which the destructor removes with its contents.
class ScratchFolder {
 public:
  ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();

  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

/// A lock on a file, for processes that would disturb each other. flock(2)
///
/// A child that inherits the descriptor keeps the lock if this process is killed. The destructor
/// releases the lock even if a daemon among the children still has the descriptor.
class FileLock {
 public:
  /// Creates the file if needed, and does not lock it yet.
  explicit FileLock(std::filesystem::path path);
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

  /// Waits for an exclusive lock, and says before it waits what it waits for. This and
  /// `wait_shared` throw if the file cannot be locked.
  void wait_alone(const std::string& what) const;
  /// Takes an exclusive lock if no other process has a lock now.
  bool take_alone() const;
  void wait_shared() const;

  int descriptor() const noexcept { return fd_.get(); }

 private:
  void wait(int kind) const;

  std::filesystem::path path_;
  harness::UniqueFd fd_;
};

}  // namespace lastref::perf
