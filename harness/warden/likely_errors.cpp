#include "harness/warden/likely_errors.hpp"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include <fmt/format.h>

#include "harness/platform/names.hpp"

namespace lastref::harness::warden {
namespace {

using std::string_view;

/// Names of errors, separated by one blank.
struct Errors {
  string_view call;
  std::array<string_view, 6> anywhere;
  string_view disk = {};     ///< And for network
  string_view network = {};  ///< For network alone
  string_view stream = {};
};

// The errors of every name lookup; then the additional ones of calls that change a folder, of calls
// that make a name in it, and of calls that make a descriptor.
constexpr string_view look_errors = "EACCES ELOOP ENAMETOOLONG ENOENT ENOMEM ENOTDIR";
constexpr string_view change_errors = "EPERM EROFS";
constexpr string_view make_errors = "EEXIST ENOSPC";
constexpr string_view open_errors = "EBUSY EINVAL EISDIR ENXIO EOVERFLOW ETXTBSY";
constexpr string_view descriptor_errors = "EMFILE ENFILE ENOMEM";
constexpr string_view fork_errors = "EAGAIN ENOMEM";
constexpr string_view exec_errors = "E2BIG EAGAIN EINVAL EISDIR ELIBBAD ENOEXEC EPERM ETXTBSY";
constexpr string_view move_errors = "EBUSY EINVAL EISDIR EMLINK ENOTEMPTY EXDEV";
constexpr string_view send_errors =
    "EACCES EAGAIN ECONNREFUSED ECONNRESET EINTR EMSGSIZE ENOBUFS ENOMEM ENOTCONN EPIPE";
constexpr string_view receive_errors = "EAGAIN ECONNREFUSED ECONNRESET EINTR ENOMEM ENOTCONN";
constexpr string_view put_errors = "EFBIG ENOMEM ENOSPC EPERM";
constexpr string_view put_in_stream_errors = "EAGAIN ECONNRESET EINTR EIO EPIPE";
constexpr string_view take_from_stream_errors = "EAGAIN ECONNRESET EINTR EIO";

constexpr std::array table = {
    Errors{"accept", {descriptor_errors, "EAGAIN ECONNABORTED EINTR ENOBUFS EPERM"}},
    Errors{"accept4", {descriptor_errors, "EAGAIN ECONNABORTED EINTR ENOBUFS EPERM"}},
    Errors{"access", {look_errors, "EROFS ETXTBSY"}, "EIO", "ESTALE"},
    Errors{"bind",
           {look_errors, change_errors, "EADDRINUSE EADDRNOTAVAIL ENOSPC"},
           "EDQUOT EIO",
           "ESTALE"},
    Errors{"chdir", {look_errors}, "EIO", "ESTALE"},
    Errors{"chmod", {look_errors, change_errors}, "EIO", "ESTALE"},
    Errors{"chroot", {look_errors, "EPERM"}, "EIO", "ESTALE"},
    Errors{"clone", {fork_errors, "ENOSPC EPERM EUSERS"}},
    Errors{"clone3", {fork_errors, "ENOSPC ENOSYS EPERM EUSERS"}},
    Errors{"connect",
           {look_errors,
            "EADDRNOTAVAIL EAGAIN ECONNREFUSED EINPROGRESS EINTR EPERM EPROTOTYPE ETIMEDOUT"}},
    Errors{"copy_file_range",
           {put_errors, "EINVAL EOPNOTSUPP EOVERFLOW EXDEV"},
           "EDQUOT EIO",
           "EINTR ESTALE"},
    Errors{"creat",
           {look_errors, change_errors, make_errors, open_errors, descriptor_errors},
           "EDQUOT EIO",
           "EINTR ESTALE"},
    Errors{"dup", {"EMFILE"}},
    Errors{"epoll_create1", {descriptor_errors}},
    Errors{"eventfd2", {descriptor_errors, "ENODEV"}},
    Errors{"execve", {look_errors, exec_errors, descriptor_errors}, "EIO", "ESTALE"},
    Errors{"execveat", {look_errors, exec_errors, descriptor_errors}, "EIO", "ESTALE"},
    Errors{"faccessat", {look_errors, "EROFS ETXTBSY"}, "EIO", "ESTALE"},
    Errors{"faccessat2", {look_errors, "ENOSYS EROFS ETXTBSY"}, "EIO", "ESTALE"},
    Errors{"fallocate", {"EFBIG EINTR ENOSPC EOPNOTSUPP EPERM ETXTBSY"}, "EDQUOT EIO", "ESTALE"},
    Errors{"fchmod", {"EPERM EROFS"}, "EIO", "ESTALE"},
    Errors{"fchmodat", {look_errors, change_errors}, "EIO", "ESTALE"},
    Errors{"fcntl", {"EACCES EAGAIN EDEADLK EINTR EMFILE ENOLCK EPERM"}},
    Errors{"fdatasync", {}, "EDQUOT EIO ENOSPC", "EINTR ESTALE", "EINVAL EROFS"},
    Errors{"flock", {"EAGAIN EINTR ENOLCK"}, "", "EIO ESTALE"},
    Errors{"fork", {fork_errors}},
    Errors{"fstat", {"ENOMEM EOVERFLOW"}, "EIO", "ESTALE"},
    Errors{"fsync", {}, "EDQUOT EIO ENOSPC", "EINTR ESTALE", "EINVAL EROFS"},
    Errors{"ftruncate", {"EFBIG EINVAL EPERM ETXTBSY"}, "EIO ENOSPC", "EINTR ESTALE"},
    Errors{"getdents64", {"ENOENT ENOMEM"}, "EIO", "ESTALE"},
    Errors{"getrandom", {"EAGAIN EINTR ENOSYS"}},
    Errors{"inotify_init1", {descriptor_errors}},
    Errors{"kill", {"EPERM ESRCH"}},
    Errors{
        "link", {look_errors, change_errors, make_errors, "EMLINK EXDEV"}, "EDQUOT EIO", "ESTALE"},
    Errors{"linkat",
           {look_errors, change_errors, make_errors, "EMLINK EXDEV"},
           "EDQUOT EIO",
           "ESTALE"},
    Errors{"listen", {"EADDRINUSE EOPNOTSUPP"}},
    Errors{"lseek", {"EINVAL ENXIO EOVERFLOW"}, "EIO", "ESTALE", "ESPIPE"},
    Errors{"lstat", {look_errors, "EOVERFLOW"}, "EIO", "ESTALE"},
    Errors{"memfd_create", {descriptor_errors, "EINVAL"}},
    Errors{"mkdir", {look_errors, change_errors, make_errors, "EMLINK"}, "EDQUOT EIO", "ESTALE"},
    Errors{"mkdirat", {look_errors, change_errors, make_errors, "EMLINK"}, "EDQUOT EIO", "ESTALE"},
    Errors{"mknod", {look_errors, change_errors, make_errors}, "EDQUOT EIO", "ESTALE"},
    Errors{"mknodat", {look_errors, change_errors, make_errors}, "EDQUOT EIO", "ESTALE"},
    Errors{"mmap", {"EACCES EAGAIN EINVAL ENFILE ENODEV ENOMEM EOVERFLOW EPERM"}},
    Errors{"mprotect", {"EACCES ENOMEM"}},
    Errors{"mq_open", {descriptor_errors, "EACCES EEXIST EINVAL ENAMETOOLONG ENOENT ENOSPC"}},
    Errors{"msgget", {"EACCES EEXIST ENOENT ENOMEM ENOSPC"}},
    Errors{"msync", {"EBUSY ENOMEM"}, "EIO ENOSPC", "ESTALE"},
    Errors{"newfstatat", {look_errors, "EOVERFLOW"}, "EIO", "ESTALE"},
    Errors{"open",
           {look_errors, change_errors, make_errors, open_errors, descriptor_errors},
           "EDQUOT EIO",
           "EINTR ESTALE",
           "EINTR ENODEV"},
    Errors{"openat",
           {look_errors, change_errors, make_errors, open_errors, descriptor_errors},
           "EDQUOT EIO",
           "EINTR ESTALE",
           "EINTR ENODEV"},
    Errors{"openat2",
           {look_errors,
            change_errors,
            make_errors,
            open_errors,
            descriptor_errors,
            "E2BIG EAGAIN ENOSYS EXDEV"},
           "EDQUOT EIO",
           "EINTR ESTALE",
           "EINTR ENODEV"},
    Errors{"pipe2", {"EMFILE ENFILE"}},
    Errors{"pread64", {"EISDIR ENOMEM"}, "EIO", "EINTR ESTALE", "ESPIPE"},
    Errors{"preadv", {"EISDIR ENOMEM"}, "EIO", "EINTR ESTALE", "ESPIPE"},
    Errors{"pwrite64", {put_errors}, "EDQUOT EIO", "EINTR ESTALE", "ESPIPE"},
    Errors{"pwritev", {put_errors}, "EDQUOT EIO", "EINTR ESTALE", "ESPIPE"},
    Errors{"read", {"EISDIR ENOMEM"}, "EIO", "EINTR ESTALE", take_from_stream_errors},
    Errors{"readlink", {look_errors, "EINVAL"}, "EIO", "ESTALE"},
    Errors{"recvfrom", {receive_errors}},
    Errors{"recvmsg", {receive_errors, "EMSGSIZE"}},
    Errors{
        "rename", {look_errors, change_errors, make_errors, move_errors}, "EDQUOT EIO", "ESTALE"},
    Errors{
        "renameat", {look_errors, change_errors, make_errors, move_errors}, "EDQUOT EIO", "ESTALE"},
    Errors{"renameat2",
           {look_errors, change_errors, make_errors, move_errors},
           "EDQUOT EIO",
           "ESTALE"},
    Errors{"rmdir", {look_errors, change_errors, "EBUSY EEXIST EINVAL ENOTEMPTY"}, "EIO", "ESTALE"},
    Errors{"semget", {"EACCES EEXIST ENOENT ENOMEM ENOSPC"}},
    Errors{
        "sendfile", {put_errors, "EINVAL EOVERFLOW"}, "EDQUOT EIO", "ESTALE", put_in_stream_errors},
    Errors{"sendmsg", {send_errors, "ETOOMANYREFS"}},
    Errors{"sendto", {send_errors}},
    Errors{"setns", {"EINVAL ENOMEM EPERM ESRCH"}},
    Errors{"shmget", {"EACCES EEXIST EINVAL ENFILE ENOENT ENOMEM ENOSPC EPERM"}},
    Errors{"socket", {descriptor_errors, "EACCES EAFNOSUPPORT ENOBUFS"}},
    Errors{"socketpair", {descriptor_errors, "EAFNOSUPPORT"}},
    Errors{"stat", {look_errors, "EOVERFLOW"}, "EIO", "ESTALE"},
    Errors{"statx", {look_errors, "ENOSYS"}, "EIO", "ESTALE"},
    Errors{"symlink", {look_errors, change_errors, make_errors}, "EDQUOT EIO", "ESTALE"},
    Errors{"symlinkat", {look_errors, change_errors, make_errors}, "EDQUOT EIO", "ESTALE"},
    Errors{"truncate",
           {look_errors, change_errors, "EFBIG EISDIR ETXTBSY"},
           "EIO ENOSPC",
           "EINTR ESTALE"},
    Errors{"unlink", {look_errors, change_errors, "EBUSY EISDIR"}, "EDQUOT EIO ENOSPC", "ESTALE"},
    Errors{"unlinkat",
           {look_errors, change_errors, "EBUSY EISDIR", "EEXIST EINVAL ENOTEMPTY"},
           "EDQUOT EIO ENOSPC",
           "ESTALE"},
    Errors{"unshare", {"EINVAL ENOMEM ENOSPC EPERM EUSERS"}},
    Errors{"utimensat", {look_errors, change_errors}, "EIO", "ESTALE"},
    Errors{"vfork", {fork_errors}},
    Errors{"write", {put_errors}, "EDQUOT EIO", "EINTR ESTALE", put_in_stream_errors},
    Errors{"writev", {put_errors}, "EDQUOT EIO", "EINTR ESTALE", put_in_stream_errors},
};
static_assert(std::ranges::is_sorted(table, {}, &Errors::call));

bool has_word(string_view words, string_view word) noexcept {
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t end = std::min(words.find(' ', at), words.size());
    if (words.substr(at, end - at) == word) {
      return true;
    }
    at = end + 1;
  }
  return false;
}

bool has_word(const std::array<string_view, 6>& groups, string_view word) noexcept {
  return std::ranges::any_of(groups, [&](string_view words) { return has_word(words, word); });
}

const Errors* errors_of(string_view call) noexcept {
  const auto found = std::ranges::find(table, call, &Errors::call);
  return found == table.end() ? nullptr : &*found;
}

}  // namespace

Where where_is(const std::string& object) {
  if (object.starts_with("/memfd:")) {
    return Where::memory;
  }
  if (object.empty()) {
    return Where::nowhere;
  }
  struct stat what {};
  const bool is_file = ::stat(object.c_str(), &what) != 0 || S_ISREG(what.st_mode) ||
                       S_ISDIR(what.st_mode) || S_ISLNK(what.st_mode);
  if (!object.starts_with('/') || !is_file) {
    return Where::stream;
  }
  struct statfs status {};
  std::filesystem::path path = object;
  // For a name that does not exist, the nearest existing folder determines the file system.
  while (::statfs(path.c_str(), &status) != 0 && path.has_relative_path()) {
    path = path.parent_path();
  }
  switch (status.f_type) {
    case TMPFS_MAGIC:
    case RAMFS_MAGIC:
      return Where::memory;
    case NFS_SUPER_MAGIC:
    case SMB2_SUPER_MAGIC:
    case FUSE_SUPER_MAGIC:
    case OVERLAYFS_SUPER_MAGIC:
      return Where::network;
    case PROC_SUPER_MAGIC:
    case SYSFS_MAGIC:
    case CGROUP2_SUPER_MAGIC:
    case DEBUGFS_MAGIC:
      return Where::kernel;
    default:
      return Where::disk;
  }
}

bool is_likely(string_view call, int error, Where where) noexcept {
  const Errors* const row = errors_of(call);
  const std::string name = name_of_error(error);
  const bool takes_space = where != Where::stream && where != Where::kernel;
  if (!takes_space && (error == ENOSPC || error == EDQUOT || error == EFBIG)) {
    return false;
  }
  if (row == nullptr || has_word(row->anywhere, name)) {
    return row != nullptr;
  }
  switch (where) {
    case Where::memory:
    case Where::kernel:
    case Where::nowhere:
      return false;
    case Where::disk:
      return has_word(row->disk, name);
    case Where::network:
      return has_word(row->disk, name) || has_word(row->network, name);
    case Where::stream:
      return has_word(row->stream, name);
  }
  return false;
}

bool is_likely(string_view call, int error) noexcept {
  return is_likely(call, error, Where::network) || is_likely(call, error, Where::stream);
}

string_view name_of(Where where) noexcept {
  constexpr std::array<string_view, 6> names = {"tmpfs",
                                                "a disk's file system",
                                                "a served file system",
                                                "a pipe, socket or device",
                                                "a file of the kernel's",
                                                "a call of nothing"};
  return names.at(static_cast<std::size_t>(where));
}

std::string likely_errors_of(string_view call) {
  const Errors* const row = errors_of(call);
  if (row == nullptr) {
    return "";
  }
  std::string text;
  for (const string_view words : row->anywhere) {
    text += (text.empty() || words.empty() ? "" : " ") + std::string(words);
  }
  const auto add = [&](string_view where, string_view errors) {
    if (!errors.empty()) {
      text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", where, errors);
    }
  };
  add("disk", row->disk);
  add("served", row->network);
  add("stream", row->stream);
  return text;
}

}  // namespace lastref::harness::warden
