// peek: what a process that waits for the warden has given a call, read from outside. It may change
// what its pointers point to at any time: a path is what was asked for, and no promise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/warden/notifier.hpp"
#include "harness/warden/syscalls.hpp"

namespace lastref::harness::warden {

/// Copies so many bytes of a thread's memory. How many it were; -1: they cannot be read.
std::int64_t read_memory(int thread, std::uint64_t address, void* into, std::size_t size);

/// The text at this address of a thread's memory, up to a 0; none: it cannot be read.
std::optional<std::string> text_at(int thread, std::uint64_t address);

/// "pipe" for "pipe:[17]": the number is another one in the next run.
std::string without_number(const std::string& object);

/// The name that a call was given, absolute, and without "." and ".."; none: it cannot be read.
/// Whether the thread has another root than we have is asked where somebody may have.
std::optional<std::string> path_at(const Notification& call,
                                   const NameAt& name,
                                   bool other_roots = false);

/// The 8 bytes at this address of a thread's memory; 0: they cannot be read.
std::uint64_t word_at(int thread, std::uint64_t address);

/// What a descriptor of a thread is: "/tmp/a", "pipe:[17]"; "fd 7" if that is not known.
std::string descriptor_at(int thread, int descriptor);

/// All that a process has open, by number; empty: it cannot be seen.
std::map<int, std::string> descriptors_of(int process);
/// What a call that opens a name is to do with it. open(2)
std::uint64_t open_flags_of(const Notification& call, const SyscallRow& row);

/// Its threads; none: it is dead.
std::vector<int> threads_of(int process);
/// Whether a program that the process becomes keeps it.
bool stays_at_exec(int process, int descriptor);

/// Children of ours that are not of a tree.
struct Strangers {
  std::vector<int> all = {};  ///< And theirs are not, either.
  int keeper = -1;            ///< Of a namespace; but its children are.
};

/// Children of ours, theirs, and so on, in no order; without strangers.
std::vector<int> descendants(const Strangers& strangers = {});

/// "set-uid", "set-gid": what a program gives to who runs it, and does not under a filter; none: it
/// gives nothing. seccomp(2), PR_SET_NO_NEW_PRIVS
std::optional<std::string> lost_rights_of(const Notification& call, const SyscallRow& row);

/// Whether it may look into, and write to, what its rights keep others from. capabilities(7)
bool ignores_rights(int process);

/// A field of /proc/PID/status, as "Tgid"; -1: there is no such process any more.
int number_of_status(int process, const std::string& field);

/// What tells it from another process that has its number earlier or later; empty: it is gone.
std::string birth_of(int process);

/// The name that a process has given itself, or its program. proc(5), comm
std::string title_of(int process);
/// The file that it runs; empty: nobody may see that, or it is gone.
std::string executable_of(int process);
/// Its arguments, or the first of them, on one line.
std::string words_of(int process);

}  // namespace lastref::harness::warden
