#include "bench/perf/files.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <utility>

#include "bench/perf/process.hpp"

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

bool replace(const fs::path& path, const std::string& text) {
  const fs::path written = fmt::format("{}.{}.new", path.string(), ::getpid());
  std::error_code error;
  if (write(written, text)) {
    if (const auto before = fs::status(path, error); fs::exists(before)) {
      fs::permissions(written, before.permissions(), error);
    }
    fs::rename(written, path, error);
    if (!error) {
      return true;
    }
  }
  fs::remove(written, error);
  return false;
}

}  // namespace

std::optional<std::string> text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return file ? std::optional(std::string(std::istreambuf_iterator<char>(file), {})) : std::nullopt;
}

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

void write_whole(const fs::path& path, const std::string& text) {
  if (!(is_no_file(path) ? write(path, text) : replace(behind_links(path), text))) {
    give_up("{} cannot be written", path.string());
  }
}

ScratchFolder::ScratchFolder() {
  std::string name = fs::temp_directory_path() / "lastref-perf-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) {
    give_up("no temporary folder: {}", std::generic_category().message(errno));
  }
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

FileLock::FileLock(fs::path path)
    : path_(std::move(path)), fd_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)) {}

FileLock::~FileLock() {
  ::flock(fd_.get(), LOCK_UN);  // A child may still have the descriptor.
}

void FileLock::wait_alone(const std::string& what) const {
  if (!take_alone()) {
    say("waiting for " + what);
    wait(LOCK_EX);
  }
}

bool FileLock::take_alone() const {
  return ::flock(fd_.get(), LOCK_EX | LOCK_NB) == 0;
}

void FileLock::wait_shared() const {
  wait(LOCK_SH);
}

void FileLock::wait(int kind) const {
  if (::flock(fd_.get(), kind) != 0) {
    give_up("no lock on {}", path_.string());
  }
}

}  // namespace lastref::perf
