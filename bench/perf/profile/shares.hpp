// Shares: what the time of each process of a program went to, from what the kernel told of it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bench/perf/profile/perf_events.hpp"
#include "bench/perf/profile/symbols.hpp"

namespace lastref::perf {

/// What a processor did when a clock ticked.
enum class Spent : std::uint8_t {
  own,
  copies,
  page_faults,
  system_calls,
  interrupts,
  in_kernel,  ///< Its functions have no names here.
};
inline constexpr std::size_t kinds_of_spent = 6;

std::string_view name_of(Spent spent) noexcept;

/// What a tick in the kernel was spent on.
struct InKernel {
  Spent spent = Spent::interrupts;
  std::string call;  ///< "pwrite64"; empty: none was under way, or its name is not known
};

/// @param names   the functions that were under way, the innermost first
InKernel in_kernel(const std::vector<std::string_view>& names);

/// Whether a function moves or clears memory, and does nothing else.
bool is_copying(std::string_view function) noexcept;

/// 0 of nothing.
inline double percent(double part, double whole) noexcept {
  return whole > 0 ? 100 * part / whole : 0;
}

struct ProcessShares {
  std::string name;
  int process = 0;
  double runs = 0;   ///< s, of all its threads
  double ready = 0;  ///< s, for somebody else ran
  double waits = 0;  ///< s
  std::uint64_t wake_ups = 0;
  std::uint64_t ticks = 0;
  std::array<std::uint64_t, kinds_of_spent> spent{};  ///< ticks, by Spent
  std::map<std::string, std::uint64_t> calls;         ///< ticks; copies and page faults as well
  std::map<std::string, std::uint64_t> functions;     ///< ticks; own ones, by their names

  double all() const noexcept { return runs + ready + waits; }
};

class Account {
 public:
  explicit Account(Symbols kernel) : kernel_(std::move(kernel)) {}

  void take(const PerfRecord& record);
  /// Of all processes, in the order in which they began.
  std::vector<ProcessShares> shares();
  std::uint64_t lost() const noexcept { return lost_; }
  bool knows_the_kernel() const noexcept { return !kernel_.empty(); }

 private:
  ProcessShares& of(int process);
  void take_tick(const Tick& tick);
  void note_time();

  Symbols kernel_;
  std::map<std::string, Symbols> files_;
  std::map<int, std::vector<Mapped>> mapped_;
  std::vector<ProcessShares> all_;
  std::map<int, std::size_t> at_;
  std::vector<Turn> turns_;
  std::uint64_t lost_ = 0;
};

}  // namespace lastref::perf
