// warden_calls: makes one system call, on names in a folder, and says in its exit code how it went:
// 0, or errno. What the call needs is there before.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace {

constexpr int unknown = 125;

int errno_of(long result) {
  return result < 0 ? errno : 0;
}

int call(const std::string& name, const std::string& folder) {
  const std::string made = folder + "/made";
  const std::string there = folder + "/there";
  const char* const to = made.c_str();
  const char* const from = there.c_str();
  const int below = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY);
  const int file = ::open((folder + "/file").c_str(), O_RDWR);
  char byte = 'x';
  iovec vector{.iov_base = &byte, .iov_len = 1};
  char* const no_words[] = {nullptr};
  const auto raw = [](auto... arguments) { return errno_of(::syscall(arguments...)); };
  if (name == "exit_group") {
    ::syscall(SYS_exit_group, 0);
  }
  if (name == "chmod")
    return raw(SYS_chmod, from, 0600);
  if (name == "creat")
    return raw(SYS_creat, to, 0600);
  if (name == "execve")
    return raw(SYS_execve, "/bin/true", no_words, no_words);
  if (name == "execveat")
    return raw(SYS_execveat, AT_FDCWD, "/bin/true", no_words, no_words, 0);
  if (name == "fallocate")
    return raw(SYS_fallocate, file, 0, 0, 100);
  if (name == "fchmod")
    return raw(SYS_fchmod, file, 0600);
  if (name == "fchmodat")
    return raw(SYS_fchmodat, below, "there", 0600);
  if (name == "fdatasync")
    return raw(SYS_fdatasync, file);
  if (name == "flock")
    return raw(SYS_flock, file, LOCK_EX);
  if (name == "fsync")
    return raw(SYS_fsync, file);
  if (name == "ftruncate")
    return raw(SYS_ftruncate, file, 10);
  if (name == "link")
    return raw(SYS_link, from, to);
  if (name == "linkat")
    return raw(SYS_linkat, below, "there", below, "made", 0);
  if (name == "mkdir")
    return raw(SYS_mkdir, to, 0700);
  if (name == "mkdirat")
    return raw(SYS_mkdirat, below, "made", 0700);
  if (name == "mknod")
    return raw(SYS_mknod, to, S_IFIFO | 0600, 0);
  if (name == "mknodat")
    return raw(SYS_mknodat, below, "made", S_IFIFO | 0600, 0);
  if (name == "open")
    return raw(SYS_open, to, O_RDWR | O_CREAT, 0600);
  if (name == "openat")
    return raw(SYS_openat, below, "made", O_RDWR | O_CREAT, 0600);
  if (name == "pwrite64")
    return raw(SYS_pwrite64, file, &byte, 1, 0);
  if (name == "read")
    return raw(SYS_read, file, &byte, 1);
  if (name == "rename")
    return raw(SYS_rename, from, to);
  if (name == "renameat")
    return raw(SYS_renameat, below, "there", below, "made");
  if (name == "renameat2")
    return raw(SYS_renameat2, below, "there", below, "made", 0);
  if (name == "rmdir")
    return raw(SYS_rmdir, (folder + "/folder").c_str());
  if (name == "symlink")
    return raw(SYS_symlink, from, to);
  if (name == "symlinkat")
    return raw(SYS_symlinkat, from, below, "made");
  if (name == "truncate")
    return raw(SYS_truncate, from, 10);
  if (name == "unlink")
    return raw(SYS_unlink, from);
  if (name == "unlinkat")
    return raw(SYS_unlinkat, below, "there", 0);
  if (name == "write")
    return raw(SYS_write, file, &byte, 1);
  if (name == "writev")
    return raw(SYS_writev, file, &vector, 1);
  return unknown;
}

}  // namespace

int main(int count, char** arguments) {
  return count == 3 ? call(arguments[1], arguments[2]) : unknown;
}
