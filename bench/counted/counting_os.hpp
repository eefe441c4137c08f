// CountingOs: a KernelOs that counts its calls. It has two processors on any machine.
//
// Its clock advances by a microsecond per reading, and by the timeouts that have expired. So an
// action that depends on elapsed time depends on the number of readings, and not on other processes
// that used the processor. Process and thread IDs have ten digits, because they are in names, and
// the bytes of names are counted.
//
// LASTREF_COUNTED_PLANT in its environment makes it do extra work. Its tracker and its workers
// inherit the variable. Counters have to show that work.
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

/// A slowdown that is too small for a clock.
enum class Plant : std::uint8_t {
  nothing,
  extra_call,     ///< one more system call before each message that is sent
  extra_copy,     ///< bytes are copied before each write_at
  extra_message,  ///< each hold message is followed by an empty one
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
  /// Far above all real IDs. proc(5), /proc/sys/kernel/pid_max
  static constexpr os::Pid pid_base = 1'000'000'000;
  static os::Pid long_number(os::Pid pid) noexcept { return pid == 0 ? 0 : pid + pid_base; }

  static void count() noexcept { own_counts.crossings.fetch_add(1, std::memory_order_relaxed); }

  os::KernelOs kernel_;
  Plant plant_ = Plant::nothing;
  std::atomic<std::int64_t> time_{0};  ///< nanoseconds
  std::vector<std::byte> copy_;
};

}  // namespace lastref::bench
