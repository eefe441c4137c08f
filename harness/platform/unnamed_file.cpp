#include "harness/platform/unnamed_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "harness/platform/proc.hpp"

namespace lastref::harness {

Result<UnnamedFile> UnnamedFile::make() {
  constexpr mode_t for_us = 0600;
  std::error_code error;
  const std::string folder = std::filesystem::temp_directory_path(error);
  UniqueFd fd(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, for_us));
  if (!fd) {  // Not each file system has O_TMPFILE. open(2)
    std::string path = folder + "/lastref-XXXXXX";
    fd.reset(::mkostemp(path.data(), O_CLOEXEC));
    if (!fd) {
      return failure(std::errc{errno}, path, Call::open);
    }
    ::unlink(path.c_str());
  }
  return UnnamedFile(std::move(fd));
}

std::string UnnamedFile::path() const {
  return fmt::format("/proc/{}/fd/{}", ::getpid(), fd_.get());
}

std::string UnnamedFile::name() const {
  return link_at(path()).value_or("");
}

}  // namespace lastref::harness
