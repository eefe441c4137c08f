// shares: where the time of each process of a program went, computed from the kernel's records, and
// the names of functions by address.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bench/perf/profile/perf_events.hpp"
#include "harness/platform/named_enum.hpp"

namespace lastref::perf {

/// Symbols, sorted by begin.
class Symbols {
 public:
  /// A size of 0 means up to the next symbol.
  void add(std::uint64_t begin, std::uint64_t size, std::string name);
  /// Has to be called after all symbols were added.
  void sort();
  /// Empty: there is no symbol.
  std::string_view at(std::uint64_t address) const;
  bool empty() const noexcept { return all_.empty(); }

 private:
  struct Symbol {
    std::uint64_t begin = 0;
    std::uint64_t size = 0;
    std::string name;
  };
  std::vector<Symbol> all_;
};

/// The symbols of the running kernel; none if it hides their addresses. kptr_restrict
Symbols kernel_symbols();

/// The functions of an ELF file, by their offset in the file; none if it cannot be read. The
/// functions that copy memory are also known for a stripped C library.
Symbols symbols_of_file(const std::string& file);

/// What a processor did when a clock ticked.
LASTREF_NAMED_ENUM(Spent,
                   (own, "own code"),
                   (copies, "copies"),
                   (page_faults, "page faults"),
                   (system_calls, "system calls"),
                   (interrupts, "interrupts"),
                   // The names of its functions are not known.
                   (in_kernel, "in the kernel, for an unknown purpose"));
inline constexpr std::size_t kinds_of_spent = names_of(Spent()).size();

/// What a tick in the kernel was spent on.
struct InKernel {
  Spent spent = Spent::interrupts;
  std::string call;  ///< "pwrite64"; empty: there was none, or its name is unknown
};

/// @param names   the functions on the call stack, innermost first
InKernel in_kernel(const std::vector<std::string_view>& names);

/// Whether a function only moves or clears memory.
bool is_copying(std::string_view function) noexcept;

/// 0 if `whole` is 0.
inline double percent(double part, double whole) noexcept {
  return whole > 0 ? 100 * part / whole : 0;
}

struct ProcessShares {
  std::string name;
  int process = 0;
  double runs = 0;   ///< s, of all its threads
  double ready = 0;  ///< s, while another thread ran
  double waits = 0;  ///< s
  std::uint64_t wake_ups = 0;
  std::uint64_t ticks = 0;
  std::array<std::uint64_t, kinds_of_spent> spent{};  ///< ticks, by Spent
  std::map<std::string, std::uint64_t> calls;         ///< ticks, with copies and page faults
  std::map<std::string, std::uint64_t> functions;     ///< ticks in user code, by function

  double all() const noexcept { return runs + ready + waits; }
};

class Account {
 public:
  explicit Account(Symbols kernel) : kernel_(std::move(kernel)) {}

  void take(const PerfRecord& record);
  /// The shares of all processes, in the order in which they first appeared.
  std::vector<ProcessShares> shares();
  std::uint64_t lost() const noexcept { return lost_; }
  bool knows_the_kernel() const noexcept { return !kernel_.empty(); }

 private:
  struct TurnOf {
    int process = 0;  ///< 0: the thread has ended
    int thread = 0;
    std::uint64_t at = 0;  ///< ns
    Turn turn;
  };

  ProcessShares& of(int process);
  void take_tick(int process, const Tick& tick);
  void note_time();

  Symbols kernel_;
  std::map<std::string, Symbols> files_;
  std::map<int, std::vector<Mapped>> mapped_;
  std::vector<ProcessShares> all_;
  std::map<int, std::size_t> at_;
  std::vector<TurnOf> turns_;
  std::uint64_t lost_ = 0;
};

}  // namespace lastref::perf
