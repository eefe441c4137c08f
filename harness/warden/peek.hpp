// peek: what a process that waits for the warden has given a call, read from outside. It may change
// what its pointers point to at any time: a path is what was asked for, and no promise.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/warden/notifier.hpp"
#include "harness/warden/syscalls.hpp"

namespace lastref::harness::warden {

/// The text at this address of a thread's memory, up to a 0; none: it cannot be read.
std::optional<std::string> text_at(int thread, std::uint64_t address);

/// The name that a call was given, absolute, and without "." and ".."; none: it cannot be read.
std::optional<std::string> path_at(const Notification& call, const NameAt& name);

/// What a descriptor of a thread is: "/tmp/a", "pipe:[17]"; "fd 7" if that is not known.
std::string descriptor_at(int thread, int descriptor);

/// A field of /proc/PID/status, as "Tgid"; -1: there is no such process any more.
int number_of_status(int process, const std::string& field);

/// The name that a process has given itself, or its program. proc(5), comm
std::string title_of(int process);

}  // namespace lastref::harness::warden
