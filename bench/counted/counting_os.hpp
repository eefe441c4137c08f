// CountingOs: KernelOs, and how often it was called. Two processors, whatever the machine has.
//
// Its clock goes on by a microsecond each time that it is read, and by what was waited for in vain:
// what is done because something took long is done because it was asked for often, not because
// somebody else had the processor. Numbers of processes and threads have ten digits, for they are
// in names, whose bytes are counted.
//
// It can be told to do more than it should, by LASTREF_COUNTED_PLANT in its environment, which its
// tracker and its workers have as well: a counter that does not see that counts nothing.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <lastref/kernel_os.hpp>

#include "bench/counted/mark.hpp"
#include "harness/instrument/os_around.hpp"

namespace lastref::bench {

/// A slow-down that no clock would notice.
enum class Plant : std::uint8_t {
  nothing,
  extra_call,     ///< one more system call before each message that is sent
  extra_copy,     ///< what is written somewhere into a file is copied first
  extra_message,  ///< the tracker is told twice
};

class CountingOs final : public harness::OsAround<CountingOs> {
 public:
  explicit CountingOs(os::KernelOptions options);

  template <Call call, typename... Given>
  harness::AnswerOf<call> every(Given&&... given) noexcept {
    count();
    return harness::CallOf<call>::make(inner(), std::forward<Given>(given)...);
  }

  unsigned processors() noexcept override {
    count();
    return 2;
  }
  os::Instant now() noexcept override {
    count();
    return std::chrono::microseconds(1) + os::Instant(time_.fetch_add(1000));
  }
  os::Pid process_id() noexcept override { return long_number(every<Call::process_id>()); }
  os::Pid thread_id() noexcept override { return long_number(every<Call::thread_id>()); }
  Result<os::Fd> open_process(os::Pid pid) noexcept override {
    return every<Call::open_process>(pid - pid_base);
  }
  Result<os::Child> spawn(const os::SpawnOptions& options) noexcept override;
  Result<os::Peer> peer_of(os::Fd socket) noexcept override;
  Result<std::optional<os::LockHolder>> find_lock(os::Fd fd,
                                                  const os::LockRange& range) noexcept override;
  Result<std::size_t> poll(std::span<os::PollItem> items,
                           std::optional<std::chrono::nanoseconds> timeout) noexcept override;
  Status send(os::Fd socket, os::Bytes message, std::span<const os::Fd> fds) noexcept override;
  Result<std::size_t> write_at(os::Fd fd, os::Bytes bytes, std::uint64_t offset) noexcept override;

 private:
  /// Far above all that there are. proc(5), /proc/sys/kernel/pid_max
  static constexpr os::Pid pid_base = 1'000'000'000;
  static os::Pid long_number(os::Pid pid) noexcept { return pid == 0 ? 0 : pid + pid_base; }

  static void count() noexcept { own_counts.crossings.fetch_add(1, std::memory_order_relaxed); }

  os::KernelOs kernel_;
  Plant plant_ = Plant::nothing;
  std::atomic<std::int64_t> time_{0};  ///< nanoseconds
  std::vector<std::byte> copy_;
};

}  // namespace lastref::bench
