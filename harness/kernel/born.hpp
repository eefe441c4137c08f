// born: how a process that was executed for a run gets to know what it is, and how its
// ambient is applied to it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/kernel/process.hpp"

namespace lastref::harness {

struct Born {
  std::uint16_t process = 0;
  ActorId actor = 0;
  bool by_scenario = false;  ///< Not by the product: the ambient is its own, not inherited.
};

/// All that an executed process has to be told, none with a NUL in it.
std::vector<std::string> arguments_of(const Born& born,
                                      const RunContext& context,
                                      const Birth& birth);

/// This program again, in this process, with these arguments. Where that cannot be, the process
/// ends.
[[noreturn]] void execute_program(std::vector<std::string> arguments) noexcept;

/// Those of the harness that an executed process needs, under their own numbers.
std::vector<os::PassedFd> harness_descriptors();

/// As many descriptors as are permitted at all.
void lift_limits() noexcept;

/// While it lives, limits are lifted.
class LimitsLifted {
 public:
  LimitsLifted() noexcept;
  LimitsLifted(const LimitsLifted&) = delete;
  LimitsLifted& operator=(const LimitsLifted&) = delete;
  ~LimitsLifted();

 private:
  std::uint64_t before_;
};

/// Who plays in the ambient of the ordinary user.
inline constexpr std::uint32_t ordinary_user_id = 65534;

/// The calling process is theirs from now on, and may look at itself as before. What root may do
/// stays where only the outside party looks for it. False if it may not.
bool become_ordinary_user() noexcept;
/// The other way, before an exec.
void become_root_again() noexcept;

/// 0, 1 and 2.
void close_standard_descriptors() noexcept;

/// Makes the pipe that nobody reads, full, unless it is there already.
void make_unread_pipe() noexcept;

}  // namespace lastref::harness
