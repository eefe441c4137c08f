#include "harness/warden/notifier.hpp"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

namespace lastref::harness::warden {
namespace {

/// Newer than the headers of Linux 6.1. linux/seccomp.h
constexpr unsigned long set_flags = SECCOMP_IOW(4, std::uint64_t);
constexpr std::uint64_t sync_wake_up = 1;  // 6.6

constexpr std::array clocks = {SYS_alarm, SYS_setitimer};

/// The native architecture of this machine. libseccomp queries it by a system call each time.
const std::uint32_t own_kind = seccomp_arch_native();

constexpr unsigned x32_bit = 0x40000000;  // asm/unistd.h

struct FreesFilter {
  void operator()(void* context) const noexcept { seccomp_release(context); }
};
using Context = std::unique_ptr<void, FreesFilter>;

std::errc code_of(int negative) {
  return static_cast<std::errc>(-negative);
}

Result<Filter> exported(const Context& context) {
  const UniqueFd file(::memfd_create("filter", MFD_CLOEXEC));
  if (!file) {
    return failure(std::errc{errno}, "a file for the filter");
  }
  static_assert(sizeof(sock_filter) == sizeof(Filter::value_type));
  Filter filter;
  int error = -seccomp_export_bpf(context.get(), file.get());
  struct stat status {};
  if (error == 0 && ::fstat(file.get(), &status) == 0) {
    filter.resize(static_cast<std::size_t>(status.st_size) / sizeof(sock_filter));
    const auto size = static_cast<ssize_t>(filter.size() * sizeof(sock_filter));
    error = ::pread(file.get(), filter.data(), static_cast<std::size_t>(size), 0) == size ? 0 : EIO;
  }
  if (error != 0) {
    return failure(std::errc{error}, "the filter");
  }
  return filter;
}

}  // namespace

Result<Filter> filter_of(const std::set<int>& numbers) {
  const Context context(seccomp_init(SCMP_ACT_ALLOW));
  if (!context) {
    return failure(std::errc::not_enough_memory, "a filter");
  }
  int error = seccomp_attr_set(context.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_NOTIFY);
  if (error == 0) {
    error = seccomp_rule_add(context.get(), SCMP_ACT_NOTIFY, SCMP_SYS(io_uring_setup), 0);
  }
  for (const int clock : clocks) {
    error = error == 0 ? seccomp_rule_add(context.get(), SCMP_ACT_NOTIFY, clock, 0) : error;
  }
  if (error == 0) {
    constexpr std::uint64_t wants_listener = SECCOMP_FILTER_FLAG_NEW_LISTENER;
    const scmp_arg_cmp flags{1, SCMP_CMP_MASKED_EQ, wants_listener, wants_listener};
    error = seccomp_rule_add_array(context.get(), SCMP_ACT_NOTIFY, SCMP_SYS(seccomp), 1, &flags);
  }
  for (const int number : numbers) {
    if (error == 0) {
      error = seccomp_rule_add(context.get(), SCMP_ACT_NOTIFY, number, 0);
    }
  }
  if (error != 0) {
    // libseccomp first asks the kernel for its features.
    return failure(code_of(error), "a filter: no seccomp user notification");
  }
  return exported(context);
}

bool is_clock(int number) noexcept {
  return std::ranges::find(clocks, number) != clocks.end();
}

int take_filter(const Filter& filter) noexcept {
  sock_fprog program{.len = static_cast<unsigned short>(filter.size()),
                     .filter = static_cast<sock_filter*>(
                         static_cast<void*>(const_cast<std::uint64_t*>(filter.data())))};
  // A signal does not interrupt a call that the warden has received. Linux 5.19
  constexpr unsigned flags =
      SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
  const auto take = [&program](unsigned with) {
    return static_cast<int>(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, with, &program));
  };
  const auto take_in_any_way = [&take] {
    const int taken = take(flags);
    return taken < 0 && errno == EINVAL ? take(SECCOMP_FILTER_FLAG_NEW_LISTENER) : taken;
  };
  // A process that may install a filter without PR_SET_NO_NEW_PRIVS keeps the effect of set-uid
  // programs.
  const int taken = take_in_any_way();
  if (taken >= 0 || errno != EACCES || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return taken;
  }
  return take_in_any_way();
}

Notifier::Notifier(UniqueFd listener, bool may_wake_in_turn) noexcept
    : listener_(std::move(listener)),
      wakes_in_turn_(may_wake_in_turn && ::ioctl(listener_.get(), set_flags, sync_wake_up) == 0) {}

bool Notifier::has_anybody() const noexcept {
  pollfd item{.fd = listener_.get(), .events = 0, .revents = 0};
  return ::poll(&item, 1, 0) == 0 || (item.revents & POLLHUP) == 0;
}

tl::expected<Notification, int> Notifier::receive() noexcept {
  seccomp_notif got{};
  if (::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_RECV, &got) != 0) {
    return tl::unexpected(errno);
  }
  Notification notification{.id = got.id,
                            .thread = static_cast<int>(got.pid),
                            .number = got.data.nr,
                            .instruction = got.data.instruction_pointer,
                            .is_foreign = got.data.arch != own_kind ||
                                          (static_cast<unsigned>(got.data.nr) & x32_bit) != 0};
  notification.gone_before = last_id_ ? got.id - *last_id_ - 1 : 0;
  last_id_ = got.id;
  std::copy(std::begin(got.data.args), std::end(got.data.args), notification.arguments.begin());
  return notification;
}

bool Notifier::is_waiting(std::uint64_t id) const noexcept {
  return ::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

bool Notifier::let_go(std::uint64_t id) noexcept {
  return answer(id, 0, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE);
}

bool Notifier::fail(std::uint64_t id, int error) noexcept {
  return answer(id, 0, -error, 0);
}

bool Notifier::give(std::uint64_t id, std::int64_t value) noexcept {
  return answer(id, value, 0, 0);
}

bool Notifier::answer(std::uint64_t id,
                      std::int64_t value,
                      int error,
                      std::uint32_t flags) noexcept {
  seccomp_notif_resp response{.id = id, .val = value, .error = error, .flags = flags};
  return ::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, &response) == 0;
}

}  // namespace lastref::harness::warden
