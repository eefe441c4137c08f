// measured_calls: system calls that a program makes repeatedly, to measure them under a watcher.
// None of them finds a file, so the kernel has little work for them.
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

/// The command that runs this program again and only makes the call: `count` times as a warm-up,
/// and then as often with the clock running.
std::vector<std::string> command_that_makes(const MeasuredCall& call, std::size_t count, int tell);

/// In that program: makes the calls and writes the seconds per call to the descriptor. False if
/// this is another command.
bool makes_calls(std::span<char* const> arguments);

}  // namespace lastref::bench
