#include "harness/warden/syscalls.hpp"

#include <sys/syscall.h>

#include <algorithm>
#include <array>

#include "harness/oracle/error_names.hpp"

namespace lastref::harness::warden {
namespace {

constexpr NameAt path_at(int path, int folder = -1) {
  return {.path = path, .folder = folder};
}

constexpr std::array rows = {
    SyscallRow{.name = "chmod", .number = SYS_chmod, .first = path_at(0)},
    SyscallRow{.name = "creat", .number = SYS_creat, .effect = Effect::makes, .first = path_at(0)},
    SyscallRow{.name = "execve", .number = SYS_execve, .effect = Effect::runs, .first = path_at(0)},
    SyscallRow{
        .name = "execveat", .number = SYS_execveat, .effect = Effect::runs, .first = path_at(1, 0)},
    SyscallRow{.name = "exit_group", .number = SYS_exit_group, .effect = Effect::ends},
    SyscallRow{.name = "fallocate", .number = SYS_fallocate, .descriptor = 0},
    SyscallRow{.name = "fchmod", .number = SYS_fchmod, .descriptor = 0},
    SyscallRow{.name = "fchmodat", .number = SYS_fchmodat, .first = path_at(1, 0)},
    SyscallRow{.name = "fdatasync", .number = SYS_fdatasync, .descriptor = 0, .is_frequent = true},
    SyscallRow{.name = "flock", .number = SYS_flock, .descriptor = 0},
    SyscallRow{.name = "fsync", .number = SYS_fsync, .descriptor = 0, .is_frequent = true},
    SyscallRow{.name = "ftruncate", .number = SYS_ftruncate, .descriptor = 0},
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
    SyscallRow{.name = "mkdir", .number = SYS_mkdir, .effect = Effect::makes, .first = path_at(0)},
    SyscallRow{
        .name = "mkdirat", .number = SYS_mkdirat, .effect = Effect::makes, .first = path_at(1, 0)},
    SyscallRow{.name = "mknod", .number = SYS_mknod, .effect = Effect::makes, .first = path_at(0)},
    SyscallRow{
        .name = "mknodat", .number = SYS_mknodat, .effect = Effect::makes, .first = path_at(1, 0)},
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
    SyscallRow{.name = "pwrite64", .number = SYS_pwrite64, .descriptor = 0, .is_frequent = true},
    SyscallRow{.name = "read", .number = SYS_read, .descriptor = 0, .is_frequent = true},
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
    SyscallRow{.name = "write", .number = SYS_write, .descriptor = 0, .is_frequent = true},
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
  const auto found = std::ranges::find(rows, number, &SyscallRow::number);
  return found == rows.end() ? nullptr : &*found;
}

std::optional<int> error_named(std::string_view name) noexcept {
  constexpr int errors_end = 134;  // errno-base.h, errno.h
  for (int error = 1; error < errors_end; ++error) {
    if (oracle::name_of_error(error) == name) {
      return error;
    }
  }
  return std::nullopt;
}

}  // namespace lastref::harness::warden
