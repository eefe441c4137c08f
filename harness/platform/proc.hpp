// proc: what the kernel shows of processes and threads in /proc. A process may exit at any time;
// then there is nothing to read. proc(5)
#pragma once

#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lastref::harness {

/// A whole file; empty: it cannot be read.
std::string read_file(const std::string& path);
std::string first_line_of(const std::string& path);
/// What a link refers to; absent: it cannot be read.
std::optional<std::string> link_at(const std::string& path);
/// The names in a folder that are numbers.
std::vector<int> numbers_in(const std::string& folder);

/// The value in the line of a text such as "PPid:\t17"; empty: there is no such line.
std::string_view field_in(std::string_view text, std::string_view name) noexcept;
/// A field of a file stat, numbered as in the man page, from 3 on; empty: there is none.
std::string_view stat_field_in(std::string_view text, int number) noexcept;
/// The number at the beginning of a text.
template <typename Number>
std::optional<Number> number_in(std::string_view text, int base = 10) noexcept {
  Number number{};
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return read.ec == std::errc{} ? std::optional(number) : std::nullopt;
}

/// A field of /proc/PID/status, such as "Tgid"; -1: the process no longer exists.
int number_of_status(int process, std::string_view field);
/// A field of /proc/PID/status that is a set of bits, such as "SigCgt"; absent: as above.
std::optional<std::uint64_t> bits_of_status(int process, std::string_view field);
/// Such as 'S'; 'X': the thread has exited.
char state_of(int process, int thread);
/// Distinguishes the process from an earlier or later one with the same number; empty: it has
/// exited.
std::string birth_of(int process);

/// A line of /proc/PID/maps.
struct Mapping {
  static constexpr std::string_view removed = " (deleted)";

  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::string_view rights;   ///< "rw-s"
  std::uint64_t offset = 0;  ///< of `begin` in the file
  std::uint64_t inode = 0;
  std::string_view path;  ///< Ends in `removed` if the file has lost its name.
};
/// They refer to the text.
std::vector<Mapping> mappings_in(std::string_view text);

/// The threads of a process; empty: it is dead.
std::vector<int> threads_of(int process);
/// The children of all threads of a process.
std::vector<int> children_of(int process);

/// What a descriptor of a thread refers to: "/tmp/a", "pipe:[17]"; "fd 7" if unknown.
std::string descriptor_at(int thread, int descriptor);
/// All open descriptors of a process, by number; empty: they cannot be seen.
std::map<int, std::string> descriptors_of(int process);
/// Whether the descriptor survives exec.
bool stays_at_exec(int process, int descriptor);

/// The name that a process has given itself, or that of its program.
std::string title_of(int process);
/// The file that it runs; empty: not visible, or it has exited.
std::string executable_of(int process);
/// Its arguments on one line, truncated if they are long.
std::string words_of(int process);

}  // namespace lastref::harness
