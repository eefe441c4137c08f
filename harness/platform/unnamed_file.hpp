// UnnamedFile: a file in the folder for temporary files that has no name. The kernel removes it
// when nothing has it open any more, so a process that is killed leaves nothing.
#pragma once

#include <string>
#include <utility>

#include <lastref/error.hpp>

#include "harness/platform/unique_fd.hpp"

namespace lastref::harness {

class UnnamedFile {
 public:
  /// The file is empty. Errors are those of mkstemp(3).
  static Result<UnnamedFile> make();

  /// While the object exists, processes of this user can open the file by this path.
  std::string path() const;
  /// What the kernel calls it where /proc lists descriptors.
  std::string name() const;

 private:
  explicit UnnamedFile(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
};

}  // namespace lastref::harness
