// AppendedFile: a file of lines to which one process at a time appends. A line that was appended
// survives the death of the process. The death may cut the last line.
#pragma once

#include <string>
#include <string_view>

#include <lastref/error.hpp>

#include "harness/platform/unique_fd.hpp"

namespace lastref::harness {

class AppendedFile {
 public:
  AppendedFile() noexcept = default;

  /// Creates it if it does not exist, and locks it until the object or the process ends.
  ///
  /// Errors          device_or_resource_busy: another object has locked it.
  static Result<AppendedFile> open(const std::string& path);

  /// Removes what follows the last end of a line.
  Status remove_cut_line();
  /// The line, with its end.
  Status append(std::string_view line);

 private:
  AppendedFile(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  std::string path_;
  UniqueFd fd_;
};

}  // namespace lastref::harness
