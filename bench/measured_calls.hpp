// measured_calls: system calls that a program of ours makes again and again, to be measured under
// whoever watches it. None of them finds anything, so that the kernel has little to do for them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lastref::bench {

struct MeasuredCall {
  std::string_view name;
  std::string_view system_call;
  int number = 0;
  void (*make)() = nullptr;
};

std::span<const MeasuredCall> measured_calls() noexcept;
const MeasuredCall& measured_call_named(std::string_view name);

/// This program once more, as one that only makes the call: so many times to begin with, and then
/// as often for the clock.
std::vector<std::string> command_that_makes(const MeasuredCall& call, std::size_t count, int tell);

/// In that program: makes them, and writes to its descriptor how many seconds each took. False if
/// this is another command.
bool makes_calls(std::span<char* const> arguments);

}  // namespace lastref::bench
