#include "bench/perf/whole_file.hpp"

#include <unistd.h>

#include <fstream>
#include <system_error>

#include <fmt/format.h>

namespace lastref::perf {
namespace {

namespace fs = std::filesystem;

/// Follows symbolic links, because the file is replaced, not the link. The target need not exist.
fs::path behind_links(fs::path path) {
  constexpr int links_most = 40;  // path_resolution(7)
  std::error_code error;
  for (int links = 0; links < links_most && fs::is_symlink(path, error); ++links) {
    path = path.parent_path() / fs::read_symlink(path, error);
  }
  return path;
}

bool is_no_file(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error) && !fs::is_regular_file(path, error);
}

bool write(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  return !file.fail();
}

}  // namespace

bool is_writable(const fs::path& path) {
  std::error_code error;
  if (is_no_file(path)) {
    return ::access(path.c_str(), W_OK) == 0 && !fs::is_directory(path, error);
  }
  const fs::path real = behind_links(path);
  const fs::path folder = real.has_parent_path() ? real.parent_path() : fs::path(".");
  return ::access(folder.c_str(), W_OK | X_OK) == 0 &&
         (!fs::exists(real, error) || ::access(real.c_str(), W_OK) == 0);
}

bool write_whole(const fs::path& path, const std::string& text) {
  if (is_no_file(path)) {
    return write(path, text);
  }
  const fs::path real = behind_links(path);
  const fs::path beside = fmt::format("{}.{}.new", real.string(), ::getpid());
  std::error_code error;
  if (write(beside, text)) {
    if (const auto before = fs::status(real, error); fs::exists(before)) {
      fs::permissions(beside, before.permissions(), error);
    }
    fs::rename(beside, real, error);
    if (!error) {
      return true;
    }
  }
  fs::remove(beside, error);
  return false;
}

}  // namespace lastref::perf
