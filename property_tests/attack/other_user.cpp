#include "property_tests/attack/other_user.hpp"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include <lastref/error.hpp>

#include "harness/platform/namespaces.hpp"

namespace lastref::pretend {
namespace {

namespace fs = std::filesystem;

constexpr const char* folders[] = {"/dev/shm", "/tmp"};
constexpr mode_t shared_folder = 01777;

bool has_own_folders = false;

std::string said(const std::string& what) {
  return what + ": " + strerrordesc_np(errno);
}

}  // namespace

std::string have_own_folders() {
  if (has_own_folders) {
    return {};
  }
  if (::geteuid() != 0) {
    return "root, to become another user";
  }
  if (::unshare(CLONE_NEWNS) != 0 || !harness::keep_mounts_private()) {
    return said("a mount namespace");
  }
  for (const char* folder : folders) {
    if (::mount("own", folder, "tmpfs", MS_NOSUID, "mode=1777") != 0) {
      return said(std::string("a mount at ") + folder);
    }
  }
  ::umask(0);  // No mode may be restricted by the inherited umask.
  has_own_folders = true;
  return {};
}

void clear_own_folders() {
  LASTREF_ASSERT(has_own_folders);
  for (const char* folder : folders) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      fs::remove_all(entry.path());
    }
    change_mode(folder, shared_folder);
  }
}

bool stranger_does(const std::function<bool()>& deed) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close_range(3, ~0U, 0);
    const bool other = ::setgroups(0, nullptr) == 0 &&
                       ::setresgid(stranger, stranger, stranger) == 0 &&
                       ::setresuid(stranger, stranger, stranger) == 0;
    ::_exit(other && deed() ? 0 : 1);
  }
  int status = -1;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status == 0;
}

bool make_folder(const std::string& path, unsigned mode) {
  return ::mkdir(path.c_str(), mode) == 0 && change_mode(path, mode);
}

bool make_file(const std::string& path, const std::string& text, unsigned mode) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  const bool made =
      fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(fd);
  return made;
}

bool make_symlink(const std::string& path, const std::string& target) {
  return ::symlink(target.c_str(), path.c_str()) == 0;
}

bool make_hard_link(const std::string& path, const std::string& target) {
  return ::link(target.c_str(), path.c_str()) == 0;
}

bool make_socket(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return false;
  }
  std::ranges::copy(path, address.sun_path);
  const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  const void* const name = &address;
  const bool made = ::bind(fd, static_cast<const sockaddr*>(name), sizeof address) == 0;
  ::close(fd);
  return made;
}

bool make_device(const std::string& path) {
  constexpr unsigned memory = 1;
  constexpr unsigned zero = 5;
  return ::mknod(path.c_str(), S_IFCHR | 0666, makedev(memory, zero)) == 0;
}

bool change_mode(const std::string& path, unsigned mode) {
  return ::chmod(path.c_str(), mode) == 0;
}

bool mount_at(const std::string& path, const char* kind, const std::string& options) {
  return ::mount("own", path.c_str(), kind, MS_NOSUID, options.c_str()) == 0;
}

bool unmount(const std::string& path) {
  return ::umount2(path.c_str(), MNT_DETACH) == 0;
}

bool move(const std::string& from, const std::string& to) {
  return ::rename(from.c_str(), to.c_str()) == 0;
}

std::string seen_at(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    return path + ": nothing\n";
  }
  char words[128];
  static_cast<void>(std::snprintf(words,
                                  sizeof words,
                                  ": inode %lu, mode %o, owner %u",
                                  static_cast<unsigned long>(status.st_ino),
                                  status.st_mode,
                                  status.st_uid));
  std::string text = path + words;
  if (S_ISLNK(status.st_mode)) {
    return text + " -> " + fs::read_symlink(path).string() + "\n";
  }
  if (S_ISREG(status.st_mode)) {
    std::ifstream file(path, std::ios::binary);
    text += ", \"";
    text.append(std::istreambuf_iterator<char>(file), {});
    return text + "\"\n";
  }
  text += '\n';
  if (S_ISDIR(status.st_mode)) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(path)) {
      names.push_back(entry.path().string());
    }
    std::ranges::sort(names);
    for (const std::string& name : names) {
      text += seen_at(name);
    }
  }
  return text;
}

}  // namespace lastref::pretend
