#include "harness/warden/syscalls.hpp"

#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace lastref::harness::warden {
namespace {

constexpr NameAt path_at(int path, int folder = -1) {
  return {.path = path, .folder = folder};
}

constexpr NameAt address_at(int address) {
  return {.path = address, .in_address = true};
}

constexpr std::array rows = {
    SyscallRow{.name = "accept", .number = SYS_accept, .descriptor = 0, .is_frequent = true},
    SyscallRow{.name = "accept4", .number = SYS_accept4, .descriptor = 0, .is_frequent = true},
    SyscallRow{.name = "access", .number = SYS_access, .first = path_at(0), .is_frequent = true},
    SyscallRow{.name = "bind", .number = SYS_bind, .effect = Effect::makes, .first = address_at(1)},
    SyscallRow{.name = "chdir", .number = SYS_chdir, .first = path_at(0), .is_frequent = true},
    SyscallRow{.name = "chmod", .number = SYS_chmod, .first = path_at(0)},
    SyscallRow{
        .name = "chroot", .number = SYS_chroot, .effect = Effect::moves_root, .first = path_at(0)},
    SyscallRow{.name = "clone", .number = SYS_clone, .is_frequent = true},
    SyscallRow{.name = "clone3", .number = SYS_clone3, .is_frequent = true},
    SyscallRow{
        .name = "connect", .number = SYS_connect, .first = address_at(1), .is_frequent = true},
    SyscallRow{.name = "copy_file_range",
               .number = SYS_copy_file_range,
               .descriptor = 2,
               .is_frequent = true},
    SyscallRow{.name = "creat", .number = SYS_creat, .effect = Effect::makes, .first = path_at(0)},
    SyscallRow{.name = "dup", .number = SYS_dup, .descriptor = 0, .is_frequent = true},
    SyscallRow{.name = "epoll_create1", .number = SYS_epoll_create1, .is_frequent = true},
    SyscallRow{.name = "eventfd2", .number = SYS_eventfd2, .is_frequent = true},
    SyscallRow{.name = "execve", .number = SYS_execve, .effect = Effect::runs, .first = path_at(0)},
    SyscallRow{
        .name = "execveat", .number = SYS_execveat, .effect = Effect::runs, .first = path_at(1, 0)},
    SyscallRow{.name = "exit_group", .number = SYS_exit_group, .effect = Effect::ends},
    SyscallRow{
        .name = "faccessat", .number = SYS_faccessat, .first = path_at(1, 0), .is_frequent = true},
    SyscallRow{.name = "faccessat2",
               .number = SYS_faccessat2,
               .first = path_at(1, 0),
               .is_frequent = true},
    SyscallRow{.name = "fallocate", .number = SYS_fallocate, .descriptor = 0},
    SyscallRow{.name = "fchmod", .number = SYS_fchmod, .descriptor = 0},
    SyscallRow{.name = "fchmodat", .number = SYS_fchmodat, .first = path_at(1, 0)},
    SyscallRow{.name = "fcntl", .number = SYS_fcntl, .descriptor = 0, .is_frequent = true},
    SyscallRow{.name = "fdatasync", .number = SYS_fdatasync, .descriptor = 0, .is_frequent = true},
    SyscallRow{.name = "flock", .number = SYS_flock, .descriptor = 0},
    SyscallRow{.name = "fork", .number = SYS_fork, .is_frequent = true},
    SyscallRow{.name = "fstat", .number = SYS_fstat, .descriptor = 0, .is_frequent = true},
    SyscallRow{.name = "fsync", .number = SYS_fsync, .descriptor = 0, .is_frequent = true},
    SyscallRow{.name = "ftruncate", .number = SYS_ftruncate, .descriptor = 0},
    SyscallRow{
        .name = "getdents64", .number = SYS_getdents64, .descriptor = 0, .is_frequent = true},
    SyscallRow{.name = "getrandom", .number = SYS_getrandom, .is_frequent = true},
    SyscallRow{.name = "inotify_init1", .number = SYS_inotify_init1, .is_frequent = true},
    SyscallRow{.name = "kill", .number = SYS_kill, .is_frequent = true},
    SyscallRow{.name = "link",
               .number = SYS_link,
               .effect = Effect::makes,
               .first = path_at(0),
               .second = path_at(1)},
    SyscallRow{.name = "linkat",
               .number = SYS_linkat,
               .effect = Effect::makes,
               .first = path_at(1, 0),
               .second = path_at(3, 2)},
    SyscallRow{.name = "listen", .number = SYS_listen, .descriptor = 0, .is_frequent = true},
    SyscallRow{.name = "lseek", .number = SYS_lseek, .descriptor = 0, .is_frequent = true},
    SyscallRow{.name = "lstat", .number = SYS_lstat, .first = path_at(0), .is_frequent = true},
    SyscallRow{.name = "memfd_create", .number = SYS_memfd_create, .is_frequent = true},
    SyscallRow{.name = "mkdir", .number = SYS_mkdir, .effect = Effect::makes, .first = path_at(0)},
    SyscallRow{
        .name = "mkdirat", .number = SYS_mkdirat, .effect = Effect::makes, .first = path_at(1, 0)},
    SyscallRow{.name = "mknod", .number = SYS_mknod, .effect = Effect::makes, .first = path_at(0)},
    SyscallRow{
        .name = "mknodat", .number = SYS_mknodat, .effect = Effect::makes, .first = path_at(1, 0)},
    SyscallRow{.name = "mmap", .number = SYS_mmap, .descriptor = 4, .is_frequent = true},
    SyscallRow{.name = "mprotect", .number = SYS_mprotect, .is_frequent = true},
    SyscallRow{.name = "mq_open",
               .number = SYS_mq_open,
               .effect = Effect::opens,
               .first = {.path = 0, .in_queues = true},
               .flags = 1},
    SyscallRow{.name = "msgget", .number = SYS_msgget, .effect = Effect::makes_sysv},
    SyscallRow{.name = "msync", .number = SYS_msync, .is_frequent = true},
    SyscallRow{.name = "newfstatat",
               .number = SYS_newfstatat,
               .first = path_at(1, 0),
               .is_frequent = true},
    SyscallRow{.name = "open",
               .number = SYS_open,
               .effect = Effect::opens,
               .first = path_at(0),
               .flags = 1},
    SyscallRow{.name = "openat",
               .number = SYS_openat,
               .effect = Effect::opens,
               .first = path_at(1, 0),
               .flags = 2},
    SyscallRow{.name = "openat2",
               .number = SYS_openat2,
               .effect = Effect::opens,
               .first = path_at(1, 0),
               .flags = 2,
               .flags_are_far = true},
    SyscallRow{.name = "pipe2", .number = SYS_pipe2, .is_frequent = true},
    SyscallRow{.name = "pread64", .number = SYS_pread64, .descriptor = 0, .is_frequent = true},
    SyscallRow{.name = "preadv", .number = SYS_preadv, .descriptor = 0, .is_frequent = true},
    SyscallRow{.name = "pwrite64",
               .number = SYS_pwrite64,
               .descriptor = 0,
               .size = 2,
               .offset = 3,
               .is_frequent = true},
    SyscallRow{.name = "pwritev", .number = SYS_pwritev, .descriptor = 0, .is_frequent = true},
    SyscallRow{.name = "read", .number = SYS_read, .descriptor = 0, .is_frequent = true},
    SyscallRow{
        .name = "readlink", .number = SYS_readlink, .first = path_at(0), .is_frequent = true},
    SyscallRow{.name = "recvfrom", .number = SYS_recvfrom, .descriptor = 0, .is_frequent = true},
    SyscallRow{.name = "recvmsg", .number = SYS_recvmsg, .descriptor = 0, .is_frequent = true},
    SyscallRow{.name = "rename",
               .number = SYS_rename,
               .effect = Effect::moves,
               .first = path_at(0),
               .second = path_at(1)},
    SyscallRow{.name = "renameat",
               .number = SYS_renameat,
               .effect = Effect::moves,
               .first = path_at(1, 0),
               .second = path_at(3, 2)},
    SyscallRow{.name = "renameat2",
               .number = SYS_renameat2,
               .effect = Effect::moves,
               .first = path_at(1, 0),
               .second = path_at(3, 2)},
    SyscallRow{
        .name = "rmdir", .number = SYS_rmdir, .effect = Effect::removes, .first = path_at(0)},
    SyscallRow{.name = "semget", .number = SYS_semget, .effect = Effect::makes_sysv},
    SyscallRow{.name = "sendfile", .number = SYS_sendfile, .descriptor = 0, .is_frequent = true},
    SyscallRow{.name = "sendmsg", .number = SYS_sendmsg, .descriptor = 0, .is_frequent = true},
    SyscallRow{.name = "sendto", .number = SYS_sendto, .descriptor = 0, .is_frequent = true},
    SyscallRow{.name = "setns", .number = SYS_setns, .effect = Effect::moves_root},
    SyscallRow{.name = "shmget", .number = SYS_shmget, .effect = Effect::makes_sysv},
    SyscallRow{.name = "socket", .number = SYS_socket, .is_frequent = true},
    SyscallRow{.name = "socketpair", .number = SYS_socketpair, .is_frequent = true},
    SyscallRow{.name = "stat", .number = SYS_stat, .first = path_at(0), .is_frequent = true},
    SyscallRow{.name = "statx", .number = SYS_statx, .first = path_at(1, 0), .is_frequent = true},
    SyscallRow{
        .name = "symlink", .number = SYS_symlink, .effect = Effect::makes, .first = path_at(1)},
    SyscallRow{.name = "symlinkat",
               .number = SYS_symlinkat,
               .effect = Effect::makes,
               .first = path_at(2, 1)},
    SyscallRow{.name = "truncate", .number = SYS_truncate, .first = path_at(0)},
    SyscallRow{
        .name = "unlink", .number = SYS_unlink, .effect = Effect::removes, .first = path_at(0)},
    SyscallRow{.name = "unlinkat",
               .number = SYS_unlinkat,
               .effect = Effect::removes,
               .first = path_at(1, 0)},
    SyscallRow{.name = "unshare", .number = SYS_unshare, .effect = Effect::moves_root},
    SyscallRow{
        .name = "utimensat", .number = SYS_utimensat, .first = path_at(1, 0), .is_frequent = true},
    SyscallRow{.name = "vfork", .number = SYS_vfork, .is_frequent = true},
    SyscallRow{
        .name = "write", .number = SYS_write, .descriptor = 0, .size = 2, .is_frequent = true},
    SyscallRow{.name = "writev", .number = SYS_writev, .descriptor = 0, .is_frequent = true},
};
static_assert(std::ranges::is_sorted(rows, {}, &SyscallRow::name));

}  // namespace

std::span<const SyscallRow> syscalls() noexcept {
  return rows;
}

const SyscallRow* syscall_named(std::string_view name) noexcept {
  const auto found = std::ranges::find(rows, name, &SyscallRow::name);
  return found == rows.end() ? nullptr : &*found;
}

const SyscallRow* syscall_numbered(int number) noexcept {
  constexpr std::size_t numbers_end = 512;  // asm/unistd_64.h
  static const auto by_number = [] {
    std::array<const SyscallRow*, numbers_end> all{};
    for (const SyscallRow& row : rows) {
      all.at(static_cast<std::size_t>(row.number)) = &row;
    }
    return all;
  }();
  const auto at = static_cast<std::size_t>(number);
  return at < by_number.size() ? by_number[at] : nullptr;
}

}  // namespace lastref::harness::warden
