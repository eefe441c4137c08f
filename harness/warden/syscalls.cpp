#include "harness/warden/syscalls.hpp"

#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace lastref::harness::warden {
namespace {

using std::string_view;

constexpr NameAt path_at(int path, int folder = -1) {
  return {.path = path, .folder = folder};
}

constexpr NameAt address_at(int address) {
  return {.path = address, .in_address = true};
}

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
constexpr string_view attribute_errors = "E2BIG EEXIST ENODATA ENOSPC EOPNOTSUPP ERANGE";
constexpr string_view send_errors =
    "EACCES EAGAIN ECONNREFUSED ECONNRESET EINTR EMSGSIZE ENOBUFS ENOMEM ENOTCONN EPIPE";
constexpr string_view receive_errors = "EAGAIN ECONNREFUSED ECONNRESET EINTR ENOMEM ENOTCONN";
constexpr string_view put_errors = "EFBIG ENOMEM ENOSPC EPERM";
constexpr string_view put_in_stream_errors = "EAGAIN ECONNRESET EINTR EIO EPIPE";
constexpr string_view take_from_stream_errors = "EAGAIN ECONNRESET EINTR EIO";

constexpr std::array rows = {
#define LASTREF_SYSCALL(call, ...) SyscallRow{.name = #call, .number = SYS_##call, __VA_ARGS__},
#include "harness/warden/syscalls.def"
#undef LASTREF_SYSCALL
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
